"""Distribution of the confusion scores of a test set: quantiles, histogram and peak."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regrade.core import Estimate, InputError
from regrade.core.arrays import FloatArray, IntArray
from regrade.stats import quantile
from regrade.studies.confusion.undefined import none_if_undefined

SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)
"""The reported quantiles."""

_MAX_BINS = 1_000  # more would need much memory


@dataclass(frozen=True)
class ScoreBins:
    """Bins of equal width from 0 to the largest possible score, closed below and open above."""

    width: float
    top: float

    def __post_init__(self) -> None:
        if not 0 < self.width <= self.top:
            raise InputError(f"the width of a bin must lie between 0 and the largest score, {self.top:.3g}")
        if self.top > _MAX_BINS * self.width:
            raise InputError(
                f"bins of {self.width:g} are more than {_MAX_BINS:,} up to {self.top:.3g}: make them wider"
            )

    @property
    def count(self) -> int:
        """Number of bins."""
        return int(np.ceil(self.top / self.width - 1e-9))

    def of(self, scores: FloatArray) -> IntArray:
        """Shape (n,): the bin of each score; the largest possible score is in the last."""
        return np.clip(np.floor(scores / self.width + 1e-9).astype(np.int64), 0, self.count - 1)

    def edges(self, place: int) -> tuple[float, float]:
        """Return the lower and the upper edge of a bin."""
        return round(place * self.width, 9), round((place + 1) * self.width, 9)

    @property
    def middles(self) -> FloatArray:
        """Shape (b,): the centers of the bins."""
        return (np.arange(self.count) + 0.5) * self.width


@dataclass(frozen=True)
class Distribution:
    """Summary of the scores: mean, quantiles by share (None with too few images), and images per bin (b,).

    ``peak`` is the mean score of the images in the fullest bin (the lowest of ties).
    """

    mean: float
    quantiles: dict[float, Estimate | None]
    counts: tuple[int, ...]
    peak: float


def distribution(scores: FloatArray, bins: ScoreBins, *, confidence: float) -> Distribution:
    """Summarize scores (n,)."""
    counts = np.bincount(bins.of(scores), minlength=bins.count)
    quantiles = {share: none_if_undefined(quantile, scores, share, confidence=confidence) for share in SHARES}
    return Distribution(float(scores.mean()), quantiles, tuple(counts.tolist()), peak(scores, bins))


def peak(scores: FloatArray, bins: ScoreBins) -> float:
    """Return the mean score of the images in the fullest bin."""
    places = bins.of(scores)
    return float(scores[places == np.bincount(places).argmax()].mean())
