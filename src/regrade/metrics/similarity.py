"""Do two models err on the same images? Error consistency, dominance and agreement, for all pairs."""

from __future__ import annotations

import numpy as np

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import UndefinedError
from regrade.core.joint_counts import joint_counts


def error_consistency(correct: BoolArray) -> FloatArray:
    """Shape (m, m): kappa of being right or wrong together, beyond chance, from ``correct`` (m, n).

    Geirhos et al. 2020. Not a number where two models are always right or always wrong: chance then
    explains everything.
    """
    both, accuracy = _shares(correct)
    observed = 1 - accuracy[:, None] - accuracy[None, :] + 2 * both
    expected = accuracy[:, None] * accuracy + (1 - accuracy)[:, None] * (1 - accuracy)
    with np.errstate(divide="ignore", invalid="ignore"):
        kappa = (observed - expected) / (1 - expected)
    return np.where(np.isclose(expected, 1, rtol=0, atol=1e-12), np.nan, kappa)


def dominance_probability(correct: BoolArray) -> FloatArray:
    """Shape (m, m): how often the weaker of two models is right where the stronger is wrong.

    Mania and Sra 2020. Symmetric; 0 on the diagonal.
    """
    both, accuracy = _shares(correct)
    return np.minimum(accuracy[:, None], accuracy[None, :]) - both


def independent_dominance(correct: BoolArray) -> FloatArray:
    """Shape (m, m): what `dominance_probability` would be if the two erred independently."""
    _check_images(correct)
    accuracy = correct.mean(axis=1)
    weaker = np.minimum(accuracy[:, None], accuracy[None, :])
    independent = weaker * (1 - np.maximum(accuracy[:, None], accuracy[None, :]))
    np.fill_diagonal(independent, 0.0)
    return independent


def agreement(predictions: IntArray) -> FloatArray:
    """Shape (m, m): the share of images to which two models give the same class, from (m, n).

    A missing answer (-1) is the same as nothing, except on the diagonal, which is 1.
    """
    _check_images(predictions)
    models = len(predictions)
    same = np.ones((models, models))
    for i in range(models):
        same[i, i + 1 :] = ((predictions[i + 1 :] == predictions[i]) & (predictions[i] >= 0)).mean(axis=1)
    return np.minimum(same, same.T)


def _shares(correct: BoolArray) -> tuple[FloatArray, FloatArray]:
    _check_images(correct)
    both = joint_counts(correct) / correct.shape[1]
    return both, np.diagonal(both)


def _check_images(rows: BoolArray | IntArray) -> None:
    if not rows.shape[1]:
        raise UndefinedError("how alike models are has no value over no images")
