"""Similarity of models on the same images: error consistency, dominance and agreement, for all pairs."""

from __future__ import annotations

import numpy as np

from regrade.core.arrays import BoolArray, FloatArray, IntArray, joint_counts
from regrade.core.errors import UndefinedError

_BLOCK = 1 << 13  # images at a time: they fit in the CPU cache, and their counts in 16 bits


def error_consistency(correct: BoolArray) -> FloatArray:
    """Shape (m, m): Cohen's kappa of the models' correctness, from ``correct`` (m, n) (Geirhos et al. 2020).

    NaN where both models are always right or both always wrong.
    """
    return consistency_from_counts(_counts(correct), correct.shape[1])


def consistency_from_counts(both: IntArray, images: int) -> FloatArray:
    """Return `error_consistency` from the numbers of images that both models have right (m, m)."""
    accuracy = np.diagonal(both) / images
    observed = 1 - accuracy[:, None] - accuracy[None, :] + 2 * both / images
    expected = accuracy[:, None] * accuracy + (1 - accuracy)[:, None] * (1 - accuracy)
    with np.errstate(divide="ignore", invalid="ignore"):
        kappa = (observed - expected) / (1 - expected)
    return np.where(np.isclose(expected, 1, rtol=0, atol=1e-12), np.nan, kappa)


def dominance_probability(correct: BoolArray) -> FloatArray:
    """Shape (m, m): how often the weaker of two models is right and the stronger wrong (Mania and Sra 2020).

    Symmetric, with 0 on the diagonal.
    """
    return dominance_from_counts(_counts(correct), correct.shape[1])


def dominance_from_counts(both: IntArray, images: int) -> FloatArray:
    """Return `dominance_probability` from the numbers of images that both models have right (m, m)."""
    right = np.diagonal(both)
    return (np.minimum(right[:, None], right[None, :]) - both) / images


def independent_dominance(correct: BoolArray) -> FloatArray:
    """Shape (m, m): the `dominance_probability` expected if the two models erred independently."""
    _check_images(correct)
    accuracy = correct.mean(axis=1)
    weaker = np.minimum(accuracy[:, None], accuracy[None, :])
    independent = weaker * (1 - np.maximum(accuracy[:, None], accuracy[None, :]))
    np.fill_diagonal(independent, 0.0)
    return independent


def agreement(predictions: IntArray) -> FloatArray:
    """Shape (m, m): the share of images for which two models predict the same class, from (m, n).

    A missing prediction (-1) never agrees, except on the diagonal, which is 1.
    """
    _check_images(predictions)
    models, images = predictions.shape
    same = np.zeros((models, models), dtype=np.int64)
    for start in range(0, images, _BLOCK):
        block = np.ascontiguousarray(predictions[:, start : start + _BLOCK])
        for i in range(models - 1):
            same[i, i + 1 :] += (block[i + 1 :] == block[i]).view(np.uint8).sum(axis=1, dtype=np.uint16)
    missing = predictions < 0
    if missing.any():
        same -= np.triu(joint_counts(missing), k=1)
    shares = (same + same.T) / images
    np.fill_diagonal(shares, 1.0)
    return shares


def _counts(correct: BoolArray) -> IntArray:
    _check_images(correct)
    return joint_counts(correct)


def _check_images(rows: BoolArray | IntArray) -> None:
    if not rows.shape[1]:
        raise UndefinedError("the similarity of models needs at least one image, got 0")
