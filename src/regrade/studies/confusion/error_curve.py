"""Do models err where the score is high? The error by score, and how closely the two go together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from regrade.core import Estimate
from regrade.core.arrays import BoolArray, FloatArray
from regrade.stats import binned_correlation, proportions, robust_pearson
from regrade.studies.confusion.distribution import ScoreBins
from regrade.studies.confusion.undefined_scores import defined


@dataclass(frozen=True)
class ScoreBin:
    """Images whose score lies from ``low`` to below ``high``, and the model's error on them."""

    low: float
    high: float
    error: Estimate

    def as_dict(self) -> dict[str, Any]:
        """The bin, ready for JSON."""
        return {"low": self.low, "high": self.high, "error": self.error.as_dict()}


@dataclass(frozen=True)
class ErrorCurve:
    """One model's error against the score, in bins that hold images and as correlations; what is undefined is none.

    ``binned`` is Pearson's r over the bins, as the paper most likely has it: sparse bins count as much as full ones.
    ``single`` is that over single images, score against wrong or right (point-biserial).
    """

    bins: tuple[ScoreBin, ...]
    binned: Estimate | None
    single: Estimate | None

    def as_dict(self) -> dict[str, Any]:
        """The curve, ready for JSON."""
        return {
            "bins": [one.as_dict() for one in self.bins],
            "binned_correlation": self.binned.as_dict() if self.binned else None,
            "correlation": self.single.as_dict() if self.single else None,
        }


def error_curve(
    scores: FloatArray, wrong: BoolArray, bins: ScoreBins, *, rng: np.random.Generator, confidence: float
) -> ErrorCurve:
    """Hold a model's mistakes ``wrong`` (n,) against the scores (n,) of the same images; there must be one."""
    places = bins.of(scores)
    sizes = np.bincount(places, minlength=bins.count)
    misses = np.bincount(places[wrong], minlength=bins.count)
    full = np.flatnonzero(sizes)
    errors = proportions(misses[full], sizes[full], confidence=confidence)
    found = tuple(ScoreBin(*bins.edges(int(place)), error) for place, error in zip(full, errors, strict=True))
    return ErrorCurve(
        found,
        defined(binned_correlation, misses, sizes, bins.middles, rng=rng, confidence=confidence),
        defined(robust_pearson, scores, wrong, confidence=confidence),
    )
