"""Calibration metrics: reliability bins, expected calibration error, Brier score, negative log-likelihood."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError

SMALLEST_PROBABILITY = 2.0**-24
"""The smallest probability above 0 that half precision holds, in which scores are stored."""


@dataclass(frozen=True)
class ReliabilityBins:
    """Accuracy and mean confidence per confidence bin, without empty bins.

    ``low`` and ``high`` (b,) are the bounds of the bins, ``sizes`` (b,) their numbers of images.
    ``variances`` (b,) are those of accuracy minus confidence over samples of images, at least as large as with one more
    correct and one more wrong prediction in the bin.
    """

    low: FloatArray
    high: FloatArray
    sizes: IntArray
    accuracy: FloatArray
    confidence: FloatArray
    variances: FloatArray

    @property
    def gaps(self) -> FloatArray:
        """Shape (b,): absolute difference between accuracy and confidence."""
        return np.abs(self.accuracy - self.confidence)

    @property
    def expected_calibration_error(self) -> float:
        """ECE, the mean gap over images (adaptive ECE for bins of equal size)."""
        return float((self.gaps * self.sizes).sum() / self.sizes.sum())

    @property
    def maximum_calibration_error(self) -> float:
        """MCE, the largest gap."""
        return float(self.gaps.max())


def reliability_bins(confidences: FloatArray, correct: BoolArray, *, bins: int = 15) -> ReliabilityBins:
    """Return bins of equal width over (0, 1], closed on the right; a confidence of 0 falls into the first bin.

    ``confidences`` (n,) are the probabilities of the predicted classes, ``correct`` (n,) whether they were right. Bin
    edges are rounded to the precision of the confidences.
    """
    _check(confidences, correct, bins)
    edges = np.arange(bins + 1) / bins
    members = np.maximum(np.searchsorted(edges.astype(confidences.dtype), confidences) - 1, 0)
    return _binned(confidences, correct, members, (edges[:-1], edges[1:]), shared=correct)


def equal_size_bins(confidences: FloatArray, correct: BoolArray, *, bins: int = 15) -> ReliabilityBins:
    """Return bins with equal numbers of images (to within one), in ascending confidence.

    Images of equal confidence may fall into two bins; each then counts with their mean accuracy, so that the order of
    the images does not matter.
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
    """Return the Brier score, the mean squared distance of probabilities (n, c) from one-hot labels (n,): 0 to 2."""
    return float(brier_scores(probabilities, labels).mean())


def brier_scores(probabilities: FloatArray, labels: IntArray) -> FloatArray:
    """Return the Brier score of each image, shape (n,)."""
    _check_labels(probabilities, labels)
    at_label = probabilities[np.arange(len(labels)), labels]
    squares = np.einsum("ij,ij->i", probabilities, probabilities, dtype=np.float64)
    return squares - 2.0 * at_label + 1.0


def negative_log_likelihood(
    probabilities: FloatArray, labels: IntArray, *, floor: float = SMALLEST_PROBABILITY
) -> float:
    """Return the mean negative log-likelihood (in nats) of labels (n,) under probabilities (n, c); see `log_losses`."""
    return float(log_losses(probabilities, labels, floor=floor).mean())


def log_losses(probabilities: FloatArray, labels: IntArray, *, floor: float = SMALLEST_PROBABILITY) -> FloatArray:
    """Return the negative log-likelihood (in nats) of each label, shape (n,).

    Probabilities below ``floor`` are replaced by it (default: the smallest positive float16, the precision of stored
    scores).
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
        raise InputError(f"bins must be at least 1, got {bins}")
    if confidences.shape != correct.shape or confidences.ndim != 1:
        raise InputError(f"confidences {confidences.shape} and correct {correct.shape} must both be (n,)")
    if not len(confidences):
        raise UndefinedError("calibration needs at least one image, got 0")
    _check_probabilities("confidences", confidences)


def _check_labels(probabilities: FloatArray, labels: IntArray) -> None:
    if probabilities.ndim != 2 or len(probabilities) != len(labels):
        raise InputError(f"probabilities must have shape ({len(labels)}, classes), got {probabilities.shape}")
    if not len(labels):
        raise UndefinedError("a score needs at least one image, got 0")
    if (labels < 0).any() or (labels >= probabilities.shape[1]).any():
        raise InputError(f"every image needs a label from 0 to {probabilities.shape[1] - 1}")
    _check_probabilities("scores", probabilities)


def _check_probabilities(what: str, values: FloatArray) -> None:
    if not (values.min() >= 0 and values.max() <= 1):  # NaN fails both
        raise InputError(f"{what} must be probabilities between 0 and 1; take the softmax of logits first")
