"""Accuracy per class, and its mean over classes."""

from __future__ import annotations

import numpy as np

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError


def balanced_accuracy(correct: BoolArray, labels: IntArray) -> FloatArray:
    """Shape (m,): the mean over classes of the accuracy on each class, from ``correct`` (m, n) and labels (n,).

    Also called macro-averaged accuracy, macro recall or mean per-class accuracy: every class counts the same, however
    many images it has. Classes without an image are left out. An image without a label (-1) raises.

    >>> balanced_accuracy(np.array([[True, True, True, False]]), np.array([0, 0, 0, 1])).tolist()
    [0.5]
    """
    if correct.ndim != 2 or correct.shape[1] != len(labels):
        raise InputError(f"correct must have shape (models, {len(labels)}), got {correct.shape}")
    if not len(labels):
        raise UndefinedError("a balanced accuracy needs at least one image, got 0")
    if labels.min() < 0:
        raise InputError("an image has no label: leave out unlabeled images first")
    _, members, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    weights = 1 / (len(sizes) * sizes[members])
    shares: FloatArray = correct @ weights
    return shares
