"""Debiased calibration error with an interval.

The plain expected calibration error is biased upwards: in each bin chance alone moves accuracy away from confidence,
the more so the fewer images the bin has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import clopper_pearson, method_name, tail_share

BINS = 15
"""Number of equal-mass bins; fewer if a bin would have less than five images."""

_MIN_PER_BIN = 5  # images
_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
_STEPS = 60  # bisection steps


def calibration_error(confidences: FloatArray, correct: BoolArray, *, confidence: float = 0.95) -> Estimate:
    """Return the debiased root mean square of accuracy - confidence, over images in equal-mass bins.

    ``confidences`` (n,) are the probabilities of the predicted classes, ``correct`` (n,) whether they were right.
    Images of equal confidence share a bin. The expected contribution of chance is subtracted (Kumar et al. 2019), so
    that a calibrated model scores near 0, and exactly 0 where nothing beyond chance is left. The interval inverts a
    test on the mean squared distance, whose distribution is approximated by a scaled chi-square of the same mean and
    variance. Its upper bound is at least the largest distance between the overall accuracy's exact interval and the
    mean confidence. Raises if there are fewer than two images.

    >>> confidences = np.repeat([0.6, 0.9], 500)
    >>> print(calibration_error(confidences, np.arange(1000) % 10 < 6))
    21.1 [18.1, 24.1]
    """
    _check(confidences, correct)
    tail, sure = tail_share(confidence), confidences.astype(np.float64)
    bins = _binned(sure, correct, least=0.0)
    value = float(np.sqrt(max(bins.squares - bins.chance, 0.0)))
    low = np.sqrt(_lower(_binned(sure, correct, least=1.0), tail))
    high = max(np.sqrt(_upper(bins, tail)), value, _overall(sure, correct, confidence))
    method = method_name("debiased scaled chi-square", confidence)
    return Estimate(value, float(min(low, value)), float(high), len(confidences), method)


def _overall(confidences: FloatArray, correct: BoolArray, confidence: float) -> float:
    """Largest plausible distance between overall accuracy and mean confidence, a floor for the upper bound."""
    bounds = clopper_pearson(int(correct.sum()), len(correct), confidence=confidence)
    mean = float(confidences.mean(dtype=np.float64))
    return max(mean - float(bounds.low), float(bounds.high) - mean)


@dataclass(frozen=True)
class _Bins:
    """Mean squared distance over images and its moments.

    ``chance`` is its expectation for a calibrated model, ``spread`` its variance for a calibrated model, and ``slope``
    the growth of that variance with the true squared error.
    """

    squares: float
    chance: float
    spread: float
    slope: float


def _binned(confidences: FloatArray, correct: BoolArray, *, least: float) -> _Bins:
    """Bin the images; a bin's variance is at least that of a share with ``least`` right and wrong images added."""
    members = equal_mass_members(confidences)
    sizes = np.bincount(members)
    distances = correct - confidences
    means = np.bincount(members, weights=distances) / sizes
    within = np.bincount(members, weights=(distances - means[members]) ** 2) / np.maximum(sizes - 1, 1)
    moved = (np.bincount(members, weights=correct) + least) / (sizes + 2 * least)
    floor = moved * (1 - moved) if least else 0.0
    variances = np.where(sizes > 1, np.maximum(within, floor), 0.25) / sizes
    shares = sizes / sizes.sum()
    above = np.maximum(means**2 - variances, 0.0)
    weights = shares * above if above.any() else shares
    return _Bins(
        float(shares @ means**2),
        float(shares @ variances),
        2 * float((shares * variances) @ (shares * variances)),
        4 * float((weights * shares) @ variances / weights.sum()),
    )


def equal_mass_members(confidences: FloatArray, most: int = BINS) -> IntArray:
    """Shape (n,): the bin of each image, in ascending confidence; equal confidences share a bin."""
    n = len(confidences)
    bins = max(1, min(most, n // _MIN_PER_BIN))
    ordered = np.sort(confidences)
    first, end = (np.searchsorted(ordered, confidences, side=side) for side in _SIDES)
    return np.unique((first + end - 1) * bins // (2 * n), return_inverse=True)[1]


def _lower(bins: _Bins, tail: float) -> float:
    """The smallest true squared error under which a mean square this large has more than tail probability."""
    return 0.0 if _at_most(bins, 0.0) < 1 - tail else _search(bins, 1 - tail, bins.squares)


def _upper(bins: _Bins, tail: float) -> float:
    """The largest true squared error under which a mean square this small has more than tail probability."""
    return _search(bins, tail, 1.0) if bins.chance > 0 else bins.squares


def _search(bins: _Bins, chance: float, most: float) -> float:
    """The true squared error at which the CDF at the observed mean square equals ``chance``, by bisection."""
    low, high = 0.0, most
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _at_most(bins, middle) > chance else (low, middle)
    return high


def _at_most(bins: _Bins, true: float) -> float:
    mean, variance = true + bins.chance, bins.spread + bins.slope * true
    return float(scipy.special.gammainc(mean**2 / variance, bins.squares * mean / variance))


def _check(confidences: FloatArray, correct: BoolArray) -> None:
    if confidences.shape != correct.shape or confidences.ndim != 1:
        raise InputError(f"confidences {confidences.shape} and correct {correct.shape} must both be (n,)")
    if len(confidences) < 2:
        raise UndefinedError("a calibration error needs at least two images")
    if not (confidences.min() >= 0 and confidences.max() <= 1):  # NaN fails both
        raise InputError("confidences must be probabilities between 0 and 1; take the softmax of logits first")
