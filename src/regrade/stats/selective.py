"""Intervals and guarantees of selective classification: area under the risk-coverage curve, certified thresholds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import method_name, tail_share

_SPARE_ERRORS = 2  # errors that the smallest tested set may have
_STEP = 0.01  # of the coverages that are tested


@dataclass(frozen=True, eq=False)
class _Influence:
    """A mean over images with its influence values (n,), the mean weight of an error, and clusters (n,) of images."""

    value: float
    influence: FloatArray
    weight: float
    clusters: IntArray | None = None

    @property
    def variance(self) -> float:
        squares = self.squares(self.influence)
        if self.clusters is None:
            return squares
        count = int(self.clusters.max()) + 1
        return squares * count / max(count - 1, 1)

    def squares(self, parts: FloatArray) -> float:
        """The sum of squares of what images (n,), or clusters of them, add to the mean."""
        sums = parts if self.clusters is None else np.bincount(self.clusters, parts)
        return float((sums**2).sum()) / len(parts) ** 2

    @property
    def cluster_size(self) -> float:
        """The mean size of the cluster of an image."""
        if self.clusters is None:
            return 1.0
        sizes = np.bincount(self.clusters)
        return float(sizes @ sizes / sizes.sum())

    @property
    def single(self) -> bool:
        """Whether all images are of one cluster, which says nothing of others."""
        return self.clusters is not None and not self.clusters.any()


def selective_risks(confidences: FloatArray, correct: BoolArray) -> FloatArray:
    """Return the error rate (n,) of the 1, 2, ..., n most confident predictions; the coverages are 1/n to 1.

    ``confidences`` (n,) are in any unit, ``correct`` (n,) says whether the predictions were right. Predictions of equal
    confidence count with their mean error, so that their order does not matter.

    >>> selective_risks(np.array([0.9, 0.8, 0.8, 0.6]), np.array([True, False, True, False])).round(3).tolist()
    [0.0, 0.25, 0.333, 0.5]
    """
    errors, ties = _ordered(confidences, correct)
    risks: FloatArray = np.cumsum(_shared(errors, ties)) / np.arange(1, len(errors) + 1)
    return risks


def risk_coverage_area(
    confidences: FloatArray, correct: BoolArray, clusters: IntArray | None = None, *, confidence: float = 0.95
) -> Estimate:
    """Return AURC, the mean over coverages of the error rate of the most confident predictions.

    An error counts the more, the more confident it is. The interval takes the sum of weighted errors as a gamma number:
    its variance is the larger of that of a weighted Poisson sum (Fay and Feuer 1997) and that of the influence
    function, and the upper end adds an error of mean weight (Tiwari et al. 2006), so that it also holds for few errors.
    With ``clusters`` (n,) of images, both are sums over clusters, and the upper end adds one cluster of mean size.

    >>> print(risk_coverage_area(np.arange(100) / 100, np.arange(100) >= 10))  # the least confident 10% are wrong
    0.6 [0.1, 4.2]
    """
    errors, ties = _ordered(confidences, correct)
    area = replace(_area(errors, ties), clusters=_in_order(clusters, confidences))
    poisson = area.squares(_weights(ties) * errors)
    return _gamma(area, max(area.variance, poisson), confidence)


def excess_area(
    confidences: FloatArray, correct: BoolArray, clusters: IntArray | None = None, *, confidence: float = 0.95
) -> Estimate:
    """Return AURC minus that of an oracle that ranks all right predictions of many images first; at least 0.

    It tells how well confidence ranks right above wrong, apart from accuracy (Geifman et al. 2019). The interval is a
    gamma interval as that of `risk_coverage_area`, with the variance of the influence function, and ``clusters`` (n,).
    """
    errors, ties = _ordered(confidences, correct)
    area, rate = replace(_area(errors, ties), clusters=_in_order(clusters, confidences)), float(errors.mean())
    if rate == 1:
        return _gamma(replace(area, value=0.0, influence=np.zeros(len(errors))), 0.0, confidence)
    slope = -np.log1p(-rate)
    excess = max(area.value - (rate + (1 - rate) * np.log1p(-rate)), 0.0)
    corrected = replace(area, value=excess, influence=area.influence - slope * (errors - rate))
    return _gamma(corrected, corrected.variance, confidence)


def _ordered(confidences: FloatArray, correct: BoolArray) -> tuple[FloatArray, IntArray]:
    """Shape (n,), twice: errors in descending confidence, and which distinct confidence each has."""
    if confidences.shape != correct.shape or confidences.ndim != 1:
        raise InputError(f"confidences {confidences.shape} and correct {correct.shape} must both be (n,)")
    if not len(correct):
        raise UndefinedError("selective risk needs at least one prediction, got 0")
    if np.isnan(confidences).any():
        raise InputError("a confidence is not a number")
    order = np.argsort(-confidences, kind="stable")
    return (~correct[order]).astype(np.float64), np.unique(-confidences[order], return_inverse=True)[1]


def _in_order(clusters: IntArray | None, confidences: FloatArray) -> IntArray | None:
    """The clusters (n,), numbered from 0, in descending confidence."""
    if clusters is None:
        return None
    return np.unique(clusters, return_inverse=True)[1][np.argsort(-confidences, kind="stable")]


def _shared(values: FloatArray, ties: IntArray) -> FloatArray:
    """Shape (n,): the mean value of the images of equal confidence."""
    means: FloatArray = (np.bincount(ties, weights=values) / np.bincount(ties))[ties]
    return means


def _weights(ties: IntArray) -> FloatArray:
    """Shape (n,): how much an error counts by its rank, the sum of 1/k over the coverages that contain it."""
    return _shared(np.cumsum(1 / np.arange(len(ties), 0, -1))[::-1], ties)


def _area(errors: FloatArray, ties: IntArray) -> _Influence:
    """The area with the influence of an image: its own weighted error, and how it moves the ranks of the errors."""
    weights = _weights(ties)
    own = weights * errors
    value = min(float(own.mean()), 1.0)  # rounding may exceed 1 if all are wrong
    below = np.cumsum((_shared(errors, ties) / np.arange(1, len(errors) + 1))[::-1])[::-1]
    return _Influence(value, own - value - _shared(below, ties) + errors.mean(), float(weights.mean()))


def _gamma(mean: _Influence, variance: float, confidence: float) -> Estimate:
    kind = "gamma, mean weight" if mean.clusters is None else "clustered gamma, mean weight"
    method = method_name(kind, confidence)
    if mean.single:
        return Estimate(mean.value, 0.0, 1.0, len(mean.influence), method)
    tail, added = tail_share(confidence), mean.weight * mean.cluster_size / len(mean.influence)
    low = _gamma_quantile(mean.value, variance, tail) if mean.value > 0 and variance > 0 else mean.value
    high = _gamma_quantile(mean.value + added, variance + added**2, 1 - tail)
    low, high = min(low, mean.value), min(max(high, mean.value), 1.0)
    return Estimate(mean.value, low, high, len(mean.influence), method)


def _gamma_quantile(mean: float, variance: float, share: float) -> float:
    return float(scipy.special.gammaincinv(mean**2 / variance, share) * variance / mean)


@dataclass(frozen=True)
class CertifiedThreshold:
    """Predictions with a confidence above ``threshold`` are right with a probability of at least ``target``.

    The statement holds with the ``confidence`` of its test. ``accepted`` of ``images`` predictions are above the
    threshold, and ``right`` of these are right.
    """

    threshold: float
    target: float
    accepted: int
    right: int
    images: int
    confidence: float


def certified_threshold(
    confidences: FloatArray, correct: BoolArray, *, target: float, confidence: float = 0.95
) -> CertifiedThreshold | None:
    """Return the lowest threshold above which the accuracy is shown to be at least ``target``; None if none is.

    Thresholds are tested from the strictest on, by the exact binomial test of the predictions above each, and the first
    that fails ends the sequence (learn then test with fixed-sequence testing, Angelopoulos et al. 2022). Therefore the
    statement holds for the selected threshold without a further correction. The thresholds are at every 1% of the
    images, from the smallest number on that would show the target in spite of two errors.

    >>> sure = np.arange(1000) / 1000
    >>> certified = certified_threshold(sure, sure > 0.1, target=0.95)  # the least confident 101 are wrong
    >>> certified.threshold, certified.accepted
    (0.065, 934)
    """
    if not 0 < target < 1:
        raise InputError(f"a target accuracy must lie between 0 and 1, got {target}")
    level, n = 2 * tail_share(confidence), len(correct)
    order = np.argsort(-confidences, kind="stable")
    ordered, right = confidences[order], np.concatenate([[0], np.cumsum(correct[order])])
    best = None
    for place in _places(n, target, level):
        threshold = float(ordered[place]) if place < n else -np.inf
        accepted = int(np.searchsorted(-ordered, -threshold))  # predictions strictly above the threshold
        if accepted == 0:
            continue
        errors = accepted - int(right[accepted])
        if scipy.special.bdtr(errors, accepted, 1 - target) > level:
            break
        best = CertifiedThreshold(max(threshold, 0.0), target, accepted, int(right[accepted]), n, confidence)
    return best


def _places(images: int, target: float, level: float) -> IntArray:
    """How many predictions are above the tested thresholds if all confidences differ, ascending; at most all."""
    sizes = np.arange(1, images + 1)
    possible = np.flatnonzero(scipy.special.bdtr(np.minimum(_SPARE_ERRORS, sizes), sizes, 1 - target) <= level)
    if not possible.size:
        return np.empty(0, dtype=np.int64)
    first, step = int(sizes[possible[0]]), max(int(_STEP * images), 1)
    return np.append(np.arange(first, images, step), images)
