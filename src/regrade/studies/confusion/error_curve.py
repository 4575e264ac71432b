"""Error by confusion score, and the correlation of the two."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from regrade.core import Estimate
from regrade.core.arrays import BoolArray, FloatArray
from regrade.core.record import json_key
from regrade.stats import binned_correlation, proportions, robust_pearson
from regrade.studies.confusion.distribution import ScoreBins
from regrade.studies.confusion.undefined import none_if_undefined


@dataclass(frozen=True)
class ScoreBin:
    """Images whose score lies from ``low`` to below ``high``, and the model's error on them."""

    low: float
    high: float
    error: Estimate


@dataclass(frozen=True)
class ErrorCurve:
    """One model's error by score, in non-empty bins and as correlations (None if undefined).

    ``binned`` is Pearson's r over the bins, as probably computed in the paper: sparse bins count as much as full ones.
    ``single`` is r over single images, between the score and an error of 0 or 1 (point-biserial).
    """

    bins: tuple[ScoreBin, ...]
    binned: Estimate | None = field(metadata=json_key("binned_correlation"))
    single: Estimate | None = field(metadata=json_key("correlation"))


def error_curve(
    scores: FloatArray, wrong: BoolArray, bins: ScoreBins, *, rng: np.random.Generator, confidence: float
) -> ErrorCurve:
    """Relate a model's mistakes ``wrong`` (n,) to the scores (n,) of the same images; n must be at least 1."""
    places = bins.of(scores)
    sizes = np.bincount(places, minlength=bins.count)
    misses = np.bincount(places[wrong], minlength=bins.count)
    full = np.flatnonzero(sizes)
    errors = proportions(misses[full], sizes[full], confidence=confidence)
    score_bins = tuple(ScoreBin(*bins.edges(int(place)), error) for place, error in zip(full, errors, strict=True))
    return ErrorCurve(
        score_bins,
        none_if_undefined(binned_correlation, misses, sizes, bins.middles, rng=rng, confidence=confidence),
        none_if_undefined(robust_pearson, scores, wrong, confidence=confidence),
    )
