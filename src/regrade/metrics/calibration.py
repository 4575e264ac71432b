"""Calibration: does a confidence of 80% mean right in 80% of cases?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError

SMALLEST_PROBABILITY = 2.0**-24
"""The smallest probability above 0 that half precision holds, in which scores are stored."""


@dataclass(frozen=True)
class ReliabilityBins:
    """Images sorted into bins of confidence; empty bins are left out.

    ``low`` and ``high`` (b,) bound each bin, ``sizes`` (b,) count its images, ``accuracy`` and
    ``confidence`` (b,) are their means. ``variances`` (b,) are those of accuracy less confidence over samples of
    images, at least as large as with one more right and one more wrong prediction in the bin.
    """

    low: FloatArray
    high: FloatArray
    sizes: IntArray
    accuracy: FloatArray
    confidence: FloatArray
    variances: FloatArray

    @property
    def gaps(self) -> FloatArray:
        """Shape (b,): how far accuracy and confidence lie apart."""
        return np.abs(self.accuracy - self.confidence)

    @property
    def expected_calibration_error(self) -> float:
        """The gaps' mean over images: ECE, or adaptive ECE for bins of equal size."""
        return float((self.gaps * self.sizes).sum() / self.sizes.sum())

    @property
    def maximum_calibration_error(self) -> float:
        """The largest gap: MCE."""
        return float(self.gaps.max())


def reliability_bins(confidences: FloatArray, correct: BoolArray, *, bins: int = 15) -> ReliabilityBins:
    """Bins of equal width over (0, 1], each open below and closed above; 0 falls into the first.

    ``confidences`` (n,) are the scores of the predicted classes, ``correct`` (n,) whether they were right.
    A confidence on an edge is one that equals the edge as rounded to the precision of the confidences.
    """
    _check(confidences, correct, bins)
    edges = np.arange(bins + 1) / bins
    members = np.maximum(np.searchsorted(edges.astype(confidences.dtype), confidences) - 1, 0)
    return _binned(confidences, correct, members, (edges[:-1], edges[1:]), shared=correct)


def equal_size_bins(confidences: FloatArray, correct: BoolArray, *, bins: int = 15) -> ReliabilityBins:
    """Bins with the same number of images each (to within one), from the least confident up.

    Images of equal confidence may fall into two bins; each then counts with the accuracy of all of
    them, so that the order of the images does not matter.
    """
    _check(confidences, correct, bins)
    _, equals = np.unique(confidences, return_inverse=True)
    shared = (np.bincount(equals, weights=correct) / np.bincount(equals))[equals]
    members = np.empty(len(confidences), dtype=np.int64)
    members[np.argsort(confidences, kind="stable")] = np.arange(len(confidences)) * bins // len(confidences)
    low = np.full(bins, np.inf)
    high = np.full(bins, -np.inf)
    np.minimum.at(low, members, confidences)
    np.maximum.at(high, members, confidences)
    return _binned(confidences, correct, members, (low, high), shared=shared)


def brier_score(probabilities: FloatArray, labels: IntArray) -> float:
    """The mean squared distance between probabilities (n, c) and the labels (n,) as certainties: 0 to 2."""
    return float(brier_scores(probabilities, labels).mean())


def brier_scores(probabilities: FloatArray, labels: IntArray) -> FloatArray:
    """Shape (n,): the Brier score of each image."""
    _check_labels(probabilities, labels)
    at_label = probabilities[np.arange(len(labels)), labels]
    squares = np.einsum("ij,ij->i", probabilities, probabilities, dtype=np.float64)
    return squares - 2.0 * at_label + 1.0


def negative_log_likelihood(
    probabilities: FloatArray, labels: IntArray, *, floor: float = SMALLEST_PROBABILITY
) -> float:
    """The mean of minus the natural log of the labels' probabilities, from (n, c) and (n,); see `log_losses`."""
    return float(log_losses(probabilities, labels, floor=floor).mean())


def log_losses(probabilities: FloatArray, labels: IntArray, *, floor: float = SMALLEST_PROBABILITY) -> FloatArray:
    """Shape (n,): minus the natural log of each label's probability.

    Probabilities below ``floor`` count as the floor.
    """
    _check_labels(probabilities, labels)
    at_label = probabilities[np.arange(len(labels)), labels].astype(np.float64)
    return -np.log(np.maximum(at_label, floor))


def _binned(
    confidences: FloatArray,
    correct: BoolArray,
    members: IntArray,
    edges: tuple[FloatArray, FloatArray],
    *,
    shared: BoolArray | FloatArray,
) -> ReliabilityBins:
    """Bins whose accuracy is the mean of ``shared`` (n,): ``correct``, or the accuracy at the same confidence."""
    low, high = edges
    sizes = np.bincount(members, minlength=len(low))
    kept = np.flatnonzero(sizes)
    counts = sizes[kept]
    right, accuracy, confidence, gap, squares = (
        np.bincount(members, weights=weights, minlength=len(low))[kept]
        for weights in (correct, shared, confidences, correct - confidences, (correct - confidences) ** 2)
    )
    within = (squares - gap**2 / counts) / np.maximum(counts - 1, 1)
    moved = (right + 1) / (counts + 2)
    variances = np.maximum(within, moved * (1 - moved)) / counts
    return ReliabilityBins(low[kept], high[kept], counts, accuracy / counts, confidence / counts, variances)


def _check(confidences: FloatArray, correct: BoolArray, bins: int) -> None:
    if bins < 1:
        raise InputError(f"there must be at least one bin, got {bins}")
    if confidences.shape != correct.shape or confidences.ndim != 1:
        raise InputError(f"confidences {confidences.shape} and correct {correct.shape} must both be (n,)")
    if not len(confidences):
        raise UndefinedError("calibration over no images has no value")
    _check_probabilities("confidences", confidences)


def _check_labels(probabilities: FloatArray, labels: IntArray) -> None:
    if probabilities.ndim != 2 or len(probabilities) != len(labels):
        raise InputError(f"probabilities {probabilities.shape} do not fit {len(labels)} labels")
    if not len(labels):
        raise UndefinedError("a score over no images has no value")
    if (labels < 0).any() or (labels >= probabilities.shape[1]).any():
        raise InputError("every image needs a label within the classes")
    _check_probabilities("scores", probabilities)


def _check_probabilities(what: str, values: FloatArray) -> None:
    if not (values.min() >= 0 and values.max() <= 1):  # not a number fails both
        raise InputError(f"{what} must be probabilities between 0 and 1; take the softmax of logits first")
