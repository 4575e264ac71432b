"""Scores of how hard an image is, from the outputs of models during training or from people's answers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.errors import InputError

_MIN_ANSWERS = 2  # the entropy of a single answer is always 0


def prediction_entropies(probabilities: ArrayLike) -> FloatArray:
    """Shape (n,): the entropy of each row of ``probabilities`` (n, c) in bits, with 0 log 0 = 0; high is hard.

    >>> prediction_entropies([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]).tolist()
    [1.0, 0.0]
    """
    p = _checked(probabilities, 2)
    return np.maximum(-(p * np.log2(np.where(p > 0, p, 1.0))).sum(axis=1), 0.0)


def prediction_margins(probabilities: ArrayLike) -> FloatArray:
    """Shape (n,): the largest minus the second largest of the ``probabilities`` (n, c); low is hard, a tie is 0.

    >>> prediction_margins([[0.5, 0.25, 0.25]]).tolist()
    [0.25]
    """
    best = np.partition(_checked(probabilities, 2), -2, axis=1)
    return best[:, -1] - best[:, -2]


def el2n(probabilities: ArrayLike, labels: IntArray) -> FloatArray:
    """Shape (n,): the L2 norm of softmax minus one-hot label, mean over models (Paul et al. 2021); high is hard.

    ``probabilities`` (m, n, c) are those of several models early in training, or of several early epochs. The score
    lies between 0 and the square root of 2. It needs the ``labels`` (n,).

    >>> el2n([[[0.5, 0.5]], [[1.0, 0.0]]], np.array([0])).round(4).tolist()
    [0.3536]
    """
    residuals = np.array(_checked(probabilities, 3))
    residuals[:, np.arange(residuals.shape[1]), labels] -= 1
    return np.sqrt((residuals**2).sum(axis=2)).mean(axis=0, dtype=np.float64)


def area_under_margin(logits: ArrayLike, labels: IntArray) -> FloatArray:
    """Shape (n,): the logit of the label minus the largest other, mean over epochs (Pleiss et al. 2020); low is hard.

    ``logits`` (t, n, c) are those of one model after each epoch; log-probabilities in nats have the same differences.
    Where a wrong class ties with the label, the margin is 0. It needs the ``labels`` (n,).

    >>> area_under_margin([[[2.0, 1.0, 0.0]], [[3.0, 0.0, 5.0]]], np.array([0])).tolist()
    [-0.5]
    """
    rest = np.array(_checked(logits, 3))
    images = np.arange(rest.shape[1])
    own = rest[:, images, labels].astype(np.float64)
    rest[:, images, labels] = -np.inf
    return (own - rest.max(axis=2)).mean(axis=0)


def label_confidence(probabilities: ArrayLike, labels: IntArray) -> FloatArray:
    """Shape (n,): the probability of the label, mean over epochs (Swayamdipta et al. 2020); low is hard.

    ``probabilities`` (t, n, c) are those of one model after each epoch. It needs the ``labels`` (n,).

    >>> label_confidence([[[0.5, 0.5]], [[1.0, 0.0]]], np.array([0])).tolist()
    [0.75]
    """
    return _of_labels(probabilities, labels).mean(axis=0)


def label_variability(probabilities: ArrayLike, labels: IntArray) -> FloatArray:
    """Shape (n,): the standard deviation over epochs of the label's probability (Swayamdipta et al. 2020).

    High is ambiguous: images that are always right or always wrong have a low variability. ``probabilities`` (t, n, c)
    are those of one model after each of at least two epochs. It needs the ``labels`` (n,).

    >>> label_variability([[[0.5, 0.5]], [[1.0, 0.0]]], np.array([0])).tolist()
    [0.25]
    """
    own = _of_labels(probabilities, labels)
    if len(own) < 2:
        raise InputError("the variability of a probability needs at least two epochs")
    return own.std(axis=0)


def human_entropies(counts: ArrayLike) -> FloatArray:
    """Shape (n,): the entropy in bits of people's answers, from ``counts`` (n, c) per class; high is hard.

    An image with fewer than two answers has no entropy: NaN. With few answers the entropy is too low on average.

    >>> human_entropies([[25, 25, 0], [51, 0, 0], [1, 0, 0]]).tolist()
    [1.0, 0.0, nan]
    """
    table = _checked(counts, 2)
    if not (table >= 0).all():
        raise InputError("counts of answers must be numbers of at least 0")
    totals = table.sum(axis=1)
    entropies = prediction_entropies(table / np.maximum(totals, 1)[:, None])
    return np.where(totals >= _MIN_ANSWERS, entropies, np.nan)


def _of_labels(probabilities: ArrayLike, labels: IntArray) -> FloatArray:
    p = _checked(probabilities, 3)
    return p[:, np.arange(p.shape[1]), labels].astype(np.float64)


def _checked(values: ArrayLike, dimensions: int) -> FloatArray:
    array = np.asarray(values)
    if array.dtype.kind != "f":
        array = array.astype(np.float64)
    if array.ndim != dimensions or array.shape[-1] < 2:
        raise InputError(f"expected an array of {dimensions} dimensions and two or more classes, got {array.shape}")
    return array
