"""The distribution of confusion scores, and the error of a model by score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regrade.core import Estimate, InputError, UndefinedError
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.record import json_key
from regrade.stats import (
    binned_correlation,
    group_shares,
    influence_effects,
    proportions,
    quantile,
    robust_pearson,
)
from regrade.stats.influence import independent_size
from regrade.stats.intervals import tail_share


def none_if_undefined(statistic: Callable[..., Estimate], *samples: Any, **options: Any) -> Estimate | None:
    """Return the statistic of the samples, or None if it is undefined."""
    try:
        return statistic(*samples, **options)
    except UndefinedError:
        return None


SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)
"""The reported quantiles."""

_SAME = 1e-6  # scores that deviate less are equal up to rounding
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


def distribution(
    scores: FloatArray, bins: ScoreBins, clusters: IntArray | None = None, *, confidence: float
) -> Distribution:
    """Summarize scores (n,); images of one of the ``clusters`` (n,) are dependent."""
    counts = np.bincount(bins.of(scores), minlength=bins.count)
    quantiles = {share: _quantile(scores, share, clusters, confidence) for share in SHARES}
    return Distribution(float(scores.mean()), quantiles, tuple(counts.tolist()), peak(scores, bins))


def _quantile(scores: FloatArray, share: float, clusters: IntArray | None, confidence: float) -> Estimate | None:
    worth = None
    if clusters is not None:
        below = scores <= np.quantile(scores, share)
        worth = independent_size(below - below.mean(), clusters, upper=1 - tail_share(confidence))
    return none_if_undefined(quantile, scores, share, worth=worth, confidence=confidence)


def peak(scores: FloatArray, bins: ScoreBins) -> float:
    """Return the mean score of the images in the fullest bin."""
    places = bins.of(scores)
    return float(scores[places == np.bincount(places).argmax()].mean())


def skewness(scores: FloatArray) -> float | None:
    """The third standardized moment of scores (n,), above 0 with a tail of high scores; None if all are equal."""
    centered = scores - scores.mean(dtype=np.float64)
    deviation = float(np.sqrt((centered**2).mean()))
    return float((centered**3).mean()) / deviation**3 if deviation > _SAME else None


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
    scores: FloatArray,
    wrong: BoolArray,
    bins: ScoreBins,
    clusters: IntArray | None = None,
    *,
    rng: np.random.Generator,
    confidence: float,
) -> ErrorCurve:
    """Relate a model's mistakes ``wrong`` (n,) to the scores (n,) of the same images; n must be at least 1.

    Images of one of the ``clusters`` (n,) are dependent.
    """
    places = bins.of(scores)
    sizes = np.bincount(places, minlength=bins.count)
    misses = np.bincount(places[wrong], minlength=bins.count)
    full = np.flatnonzero(sizes)
    if clusters is None:
        errors, effect = proportions(misses[full], sizes[full], confidence=confidence), None
    else:
        members = np.searchsorted(full, places)
        shares = group_shares(wrong, members, clusters)
        errors, effect = shares.estimates(confidence), _effect_within(wrong - shares.values[members], members, clusters)
    score_bins = tuple(ScoreBin(*bins.edges(int(place)), error) for place, error in zip(full, errors, strict=True))
    return ErrorCurve(
        score_bins,
        none_if_undefined(
            binned_correlation, misses, sizes, bins.middles, rng=rng, effect=effect, confidence=confidence
        ),
        none_if_undefined(robust_pearson, scores, wrong, clusters, confidence=confidence),
    )


def _effect_within(residuals: FloatArray, members: IntArray, clusters: IntArray) -> float:
    """The design effect of the parts of clusters in the same bin; bins that move together change no correlation."""
    parts = np.unique(np.column_stack([clusters, members]), axis=0, return_inverse=True)[1]
    return float(influence_effects(residuals, parts.ravel())[0])
