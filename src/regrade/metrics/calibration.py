"""Calibration: does a confidence of 80% mean right in 80% of cases?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError


@dataclass(frozen=True)
class ReliabilityBins:
    """Images sorted into bins of confidence; empty bins are left out.

    ``low`` and ``high`` (b,) bound each bin, ``sizes`` (b,) count its images, ``accuracy`` and
    ``confidence`` (b,) are their means.
    """

    low: FloatArray
    high: FloatArray
    sizes: IntArray
    accuracy: FloatArray
    confidence: FloatArray

    @property
    def gaps(self) -> FloatArray:
        """Shape (b,): how far accuracy and confidence lie apart."""
        return np.abs(self.accuracy - self.confidence)

    @property
    def expected_error(self) -> float:
        """The gaps' mean over images: ECE, or adaptive ECE for bins of equal size."""
        return float((self.gaps * self.sizes).sum() / self.sizes.sum())

    @property
    def maximum_error(self) -> float:
        """The largest gap: MCE."""
        return float(self.gaps.max())


def reliability_bins(confidences: FloatArray, correct: BoolArray, *, bins: int = 15) -> ReliabilityBins:
    """Bins of equal width over (0, 1], each open below and closed above; 0 falls into the first.

    ``confidences`` (n,) are the scores of the predicted classes, ``correct`` (n,) whether they were right.
    """
    _check(confidences, correct, bins)
    members = np.maximum(np.ceil(confidences * bins).astype(np.int64) - 1, 0)
    edges = np.linspace(0, 1, bins + 1)
    return _binned(confidences, correct, members, edges[:-1], edges[1:])


def equal_size_bins(confidences: FloatArray, correct: BoolArray, *, bins: int = 15) -> ReliabilityBins:
    """Bins with the same number of images each (to within one), from the least confident up."""
    _check(confidences, correct, bins)
    members = np.empty(len(confidences), dtype=np.int64)
    members[np.argsort(confidences, kind="stable")] = np.arange(len(confidences)) * bins // len(confidences)
    low = np.full(bins, np.inf)
    high = np.full(bins, -np.inf)
    np.minimum.at(low, members, confidences)
    np.maximum.at(high, members, confidences)
    return _binned(confidences, correct, members, low, high)


def brier_score(probabilities: FloatArray, labels: IntArray) -> float:
    """The mean squared distance between probabilities (n, c) and the labels (n,) as certainties: 0 to 2."""
    _check_labels(probabilities, labels)
    at_label = probabilities[np.arange(len(labels)), labels]
    squares = np.einsum("ij,ij->i", probabilities, probabilities, dtype=np.float64)
    return float((squares - 2.0 * at_label + 1.0).mean())


def negative_log_likelihood(probabilities: FloatArray, labels: IntArray, *, floor: float = 2.0**-24) -> float:
    """The mean of minus the natural log of the labels' probabilities, from (n, c) and (n,).

    Probabilities below ``floor`` count as the floor: by default the smallest that half precision can
    tell from 0, in which scores are stored.
    """
    _check_labels(probabilities, labels)
    at_label = probabilities[np.arange(len(labels)), labels].astype(np.float64)
    return float(-np.log(np.maximum(at_label, floor)).mean())


def _binned(
    confidences: FloatArray, correct: BoolArray, members: IntArray, low: FloatArray, high: FloatArray
) -> ReliabilityBins:
    sizes = np.bincount(members, minlength=len(low))
    kept = np.flatnonzero(sizes)
    sums = [np.bincount(members, weights=w, minlength=len(low))[kept] for w in (correct, confidences)]
    return ReliabilityBins(low[kept], high[kept], sizes[kept], sums[0] / sizes[kept], sums[1] / sizes[kept])


def _check(confidences: FloatArray, correct: BoolArray, bins: int) -> None:
    if bins < 1:
        raise InputError(f"there must be at least one bin, got {bins}")
    if confidences.shape != correct.shape or confidences.ndim != 1:
        raise InputError(f"confidences {confidences.shape} and correct {correct.shape} must both be (n,)")
    if not len(confidences):
        raise UndefinedError("calibration over no images has no value")
    if not ((confidences >= 0) & (confidences <= 1)).all():
        raise InputError(
            "confidences must be probabilities between 0 and 1; take the softmax of logits first"
        )


def _check_labels(probabilities: FloatArray, labels: IntArray) -> None:
    if probabilities.ndim != 2 or len(probabilities) != len(labels):
        raise InputError(f"probabilities {probabilities.shape} do not fit {len(labels)} labels")
    if not len(labels):
        raise UndefinedError("a score over no images has no value")
    if (labels < 0).any() or (labels >= probabilities.shape[1]).any():
        raise InputError("every image needs a label within the classes")
