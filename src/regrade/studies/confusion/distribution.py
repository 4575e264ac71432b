"""How the scores of a test set are distributed: quantiles, a histogram and its peak."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from regrade.core import Estimate, InputError
from regrade.core.arrays import FloatArray, IntArray
from regrade.stats import quantile
from regrade.studies.confusion.undefined_scores import defined

SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)
"""The quantiles that are told."""

_MOST = 1_000  # bins: more say nothing, and holding each against each takes memory


@dataclass(frozen=True)
class ScoreBins:
    """Bins of equal width from 0 to the largest score there can be; each is closed below and open above."""

    width: float
    top: float

    def __post_init__(self) -> None:
        if not 0 < self.width <= self.top:
            raise InputError(f"the width of a bin must lie between 0 and the largest score, {self.top:.3g}")
        if self.top > _MOST * self.width:
            raise InputError(f"bins of {self.width:g} are more than {_MOST:,} up to {self.top:.3g}: make them wider")

    @property
    def count(self) -> int:
        """How many bins there are."""
        return int(np.ceil(self.top / self.width - 1e-9))

    def of(self, scores: FloatArray) -> IntArray:
        """Shape (n,): the bin of each score; the largest score there can be is in the last."""
        return np.clip(np.floor(scores / self.width + 1e-9).astype(np.int64), 0, self.count - 1)

    def edges(self, place: int) -> tuple[float, float]:
        """Where a bin begins and ends."""
        return round(place * self.width, 9), round((place + 1) * self.width, 9)

    @property
    def middles(self) -> FloatArray:
        """Shape (b,): the bins' middles."""
        return (np.arange(self.count) + 0.5) * self.width


@dataclass(frozen=True)
class Distribution:
    """The scores of all images: mean, quantiles by share (none with too few images), and images in each bin (b,).

    ``peak`` is the mean score of the images in the fullest bin; of equally full ones, the lowest.
    """

    mean: float
    quantiles: dict[float, Estimate | None]
    counts: tuple[int, ...]
    peak: float

    def as_dict(self) -> dict[str, Any]:
        """The distribution, ready for JSON."""
        told = {f"{share:g}": found.as_dict() if found else None for share, found in self.quantiles.items()}
        return {"mean": self.mean, "quantiles": told, "counts": list(self.counts), "peak": self.peak}


def distribution(scores: FloatArray, bins: ScoreBins, *, confidence: float) -> Distribution:
    """Describe scores (n,)."""
    counts = np.bincount(bins.of(scores), minlength=bins.count)
    found = {share: defined(quantile, scores, share, confidence=confidence) for share in SHARES}
    return Distribution(float(scores.mean()), found, tuple(counts.tolist()), peak(scores, bins))


def peak(scores: FloatArray, bins: ScoreBins) -> float:
    """The mean score of the images in the fullest bin."""
    places = bins.of(scores)
    return float(scores[places == np.bincount(places).argmax()].mean())
