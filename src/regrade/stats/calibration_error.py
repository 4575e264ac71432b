"""How far confidences are from accuracy, without what chance adds to the distance, and with an interval.

The plain expected calibration error is never 0: in each bin chance alone moves accuracy away from confidence, more so
the fewer images a bin has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import clopper_pearson, method_name, tail_share

BINS = 15
"""Bins of equally many images, unless these would have fewer than five each."""

_FEWEST = 5  # images per bin
_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
_STEPS = 60  # halvings in the search for a bound


def calibration_error(confidences: FloatArray, correct: BoolArray, *, confidence: float = 0.95) -> Estimate:
    """The root mean square over images of accuracy less confidence, in bins of equally many images.

    ``confidences`` (n,) are probabilities of the predicted classes, ``correct`` (n,) whether they were right. Images of
    equal confidence are in one bin. What chance adds to the squared distances is taken off (Kumar et al. 2019), so that
    the value of a calibrated model is near 0, and 0 where no more than chance is left. The interval holds the errors
    under which squared distances as small or as large as these are not rare; their distribution is taken as a scaled
    chi-square with the same mean and variance. It reaches at least as far as the exact interval of all images does
    from their mean confidence. Fewer than two images raise.

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
    """How far the accuracy of all images may be from their mean confidence: so far at least, though all are right."""
    bounds = clopper_pearson(int(correct.sum()), len(correct), confidence=confidence)
    mean = float(confidences.mean(dtype=np.float64))
    return max(mean - float(bounds.low), float(bounds.high) - mean)


@dataclass(frozen=True)
class _Bins:
    """Mean squared distance over images, what chance adds to it, and how much that varies.

    ``spread`` is the variance of the squares of a calibrated model, and ``slope`` how it grows with the true square.
    """

    squares: float
    chance: float
    spread: float
    slope: float


def _binned(confidences: FloatArray, correct: BoolArray, *, least: float) -> _Bins:
    """The bins, each with a variance of at least that of a share with ``least`` right and wrong answers added."""
    members = _members(confidences)
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


def _members(confidences: FloatArray) -> IntArray:
    """Shape (n,): the bin of each image, from the least confident up; equal confidences are never parted."""
    n = len(confidences)
    bins = max(1, min(BINS, n // _FEWEST))
    ordered = np.sort(confidences)
    first, end = (np.searchsorted(ordered, confidences, side=side) for side in _SIDES)
    return np.unique((first + end - 1) * bins // (2 * n), return_inverse=True)[1]


def _lower(bins: _Bins, tail: float) -> float:
    """The true square above which so large a mean of squares has more than the chance of the tail."""
    return 0.0 if _at_most(bins, 0.0) < 1 - tail else _search(bins, 1 - tail, bins.squares)


def _upper(bins: _Bins, tail: float) -> float:
    """The true square below which so small a mean of squares has more than the chance of the tail."""
    return _search(bins, tail, 1.0) if bins.chance > 0 else bins.squares


def _search(bins: _Bins, chance: float, most: float) -> float:
    """Where the chance of at most these squares, which falls with the true square, equals ``chance``."""
    low, high = 0.0, most
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _at_most(bins, middle) > chance else (low, middle)
    return high


def _at_most(bins: _Bins, true: float) -> float:
    mean, variance = true + bins.chance, bins.spread + bins.slope * true
    return float(special.gammainc(mean**2 / variance, bins.squares * mean / variance))


def _check(confidences: FloatArray, correct: BoolArray) -> None:
    if confidences.shape != correct.shape or confidences.ndim != 1:
        raise InputError(f"confidences {confidences.shape} and correct {correct.shape} must both be (n,)")
    if len(confidences) < 2:
        raise UndefinedError("a calibration error needs at least two images")
    if not (confidences.min() >= 0 and confidences.max() <= 1):  # not a number fails both
        raise InputError("confidences must be probabilities between 0 and 1; take the softmax of logits first")
