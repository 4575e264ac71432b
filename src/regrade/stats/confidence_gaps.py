"""Mean confidence minus accuracy, and accuracies in bins of confidence, with intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.core.record import Record
from regrade.stats.calibration_errors import equal_mass_members
from regrade.stats.clustered_pairs import clustered_share
from regrade.stats.intervals import clopper_pearson, method_name, normal_quantile, proportions
from regrade.stats.means import clustered_mean
from regrade.stats.multiplicity import bonferroni_confidence, mark_simultaneous
from regrade.stats.subset_shares import subset_share

RELIABILITY_BINS = 10
"""Default number of bins of a reliability curve."""


@dataclass(frozen=True)
class ReliabilityPoint(Record):
    """A bin of a reliability curve: its confidences from ``low`` to ``high``, their mean, and the accuracy."""

    low: float
    high: float
    mean_confidence: float
    accuracy: Estimate


def confidence_gap(
    confidences: FloatArray, correct: BoolArray, clusters: IntArray | None = None, *, confidence: float = 0.95
) -> Estimate:
    """Return the mean confidence minus the accuracy: above 0 for an overconfident model.

    ``confidences`` (n,) are the probabilities of the predicted classes, ``correct`` (n,) whether they were right. The
    interval combines the exact one of the accuracy with the error of the mean confidence, given their correlation
    (MOVER, Zou and Donner 2008), so that it also holds if no prediction or every prediction is right. With ``clusters``
    (n,) of images, all three are over clusters, the accuracy as in `subset_share`; a single one gives [-1, 1].

    >>> print(confidence_gap(np.full(100, 0.9), np.arange(100) >= 20))
    10.0 [2.7, 19.2]
    """
    _check(confidences, correct)
    if clusters is not None:
        return _clustered_gap(confidences.astype(np.float64), correct, clusters, confidence)
    sure, n, right = confidences.astype(np.float64), len(correct), int(correct.sum())
    accuracy, bounds = right / n, clopper_pearson(right, n, confidence=confidence)
    error = normal_quantile(confidence) * float(sure.std(ddof=1)) / np.sqrt(n) if n > 1 else 1.0
    shared = float(np.corrcoef(sure, correct)[0, 1]) if 0 < right < n and error > 0 else 0.0
    value = float(sure.mean()) - accuracy
    down, up = (
        _combined(side, error, shared) for side in (float(bounds.high) - accuracy, accuracy - float(bounds.low))
    )
    return Estimate(value, max(value - down, -1.0), min(value + up, 1.0), n, method_name("mover", confidence))


def _clustered_gap(sure: FloatArray, correct: BoolArray, clusters: IntArray, confidence: float) -> Estimate:
    members, right = np.unique(clusters, return_inverse=True)[1], float(correct.mean())
    value, method = float(sure.mean()) - right, method_name("clustered mover", confidence)
    if not members.any():
        return Estimate(value, -1.0, 1.0, len(sure), method)
    accuracy = subset_share(correct, np.ones(len(correct), dtype=bool), members, confidence=confidence)
    mean = clustered_mean(sure, members, confidence=confidence)[0]
    sums = [np.bincount(members, values - values.mean()) for values in (sure, correct.astype(np.float64))]
    lengths = float(np.sqrt((sums[0] @ sums[0]) * (sums[1] @ sums[1])))
    shared = float(sums[0] @ sums[1]) / lengths if lengths > 0 else 0.0
    error = mean.high - mean.value
    down, up = (_combined(side, error, shared) for side in (accuracy.high - right, right - accuracy.low))
    return Estimate(value, max(value - down, -1.0), min(value + up, 1.0), len(sure), method)


def _combined(accuracy: float, confidence: float, shared: float) -> float:
    return float(np.sqrt(max(accuracy**2 + confidence**2 - 2 * shared * accuracy * confidence, 0.0)))


def reliability_curve(
    confidences: FloatArray,
    correct: BoolArray,
    clusters: IntArray | None = None,
    *,
    bins: int = RELIABILITY_BINS,
    confidence: float = 0.95,
) -> tuple[ReliabilityPoint, ...]:
    """Return the accuracy in bins of equally many images, ascending, with simultaneous exact intervals.

    Images of equal confidence share a bin, so that there may be fewer bins. The bins follow from the confidences alone;
    given these, the number of right predictions of a calibrated model lies in a narrower range than a binomial number
    (Hoeffding 1956), and its mean confidences all lie within the intervals with a probability of ``confidence``. With
    ``clusters`` (n,) of images, the intervals are those of Korn and Graubard.
    """
    _check(confidences, correct)
    members = equal_mass_members(confidences, bins)
    sizes = np.bincount(members)
    right = np.bincount(members, weights=correct).astype(np.int64)
    means = np.bincount(members, weights=confidences) / sizes
    level = bonferroni_confidence(len(sizes), confidence)
    if clusters is None:
        shares = proportions(right, sizes, confidence=level)
    else:
        parts = [members == place for place in range(len(sizes))]
        shares = [clustered_share(correct[part], clusters[part], confidence=level) for part in parts]
    ends = [(confidences[members == place].min(), confidences[members == place].max()) for place in range(len(sizes))]
    return tuple(
        ReliabilityPoint(
            float(low), float(high), float(mean), mark_simultaneous(share, len(sizes), confidence=confidence)
        )
        for (low, high), mean, share in zip(ends, means, shares, strict=True)
    )


def _check(confidences: FloatArray, correct: BoolArray) -> None:
    if confidences.shape != correct.shape or confidences.ndim != 1:
        raise InputError(f"confidences {confidences.shape} and correct {correct.shape} must both be (n,)")
    if not len(correct):
        raise UndefinedError("a confidence needs at least one prediction, got 0")
    if not (confidences.min() >= 0 and confidences.max() <= 1):  # NaN fails both
        raise InputError("confidences must be probabilities between 0 and 1; take the softmax of logits first")
