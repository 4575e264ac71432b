"""How closely a score of images goes with the errors of many models: a correlation per model, with their covariance.

The models err on the same images, so that their correlations vary together. The covariances are those of the influence
functions of the images (the delta method).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import ArrayLike

from regrade.core.arrays import BoolArray, FloatArray
from regrade.core.errors import InputError, UndefinedError
from regrade.stats.model_effects import MeasuredModels

_Correlation = Callable[[FloatArray, FloatArray], tuple[float, FloatArray]]


def error_correlations(
    scores: ArrayLike, wrong: ArrayLike, counted: ArrayLike, clusters: ArrayLike | None = None
) -> MeasuredModels:
    """Pearson's r of ``scores`` (n,) and the errors ``wrong`` (m, n) of each model, on the images ``counted`` (m, n).

    It is the point-biserial correlation, whose size depends on the error rate: it is at most 0.80 for a normal score at
    a rate of 50%, and at most 0.58 at 10%. A model without errors, or a constant score, raises. Images of one of the
    ``clusters`` (n,) are dependent.

    >>> error_correlations([1, 2, 3, 4], [[0, 0, 1, 1]], [[1, 1, 1, 1]]).values.round(3)
    array([0.894])
    """
    return _correlations(_pearson, scores, wrong, counted, clusters)


def biserial_correlations(
    scores: ArrayLike, wrong: ArrayLike, counted: ArrayLike, clusters: ArrayLike | None = None
) -> MeasuredModels:
    """The biserial correlation of ``scores`` (n,) and the errors ``wrong`` (m, n) on the images ``counted`` (m, n).

    It is the correlation with a model's latent tendency to err, from the normal scores of the ranks: if both are
    jointly normal, it does not depend on the error rate (Tate 1955), so that models of different accuracy can be
    compared. In small samples it may exceed 1. A model without errors, or a constant score, raises. Images of one of
    the ``clusters`` (n,) are dependent.

    >>> biserial_correlations([1, 2, 3, 40], [[0, 0, 1, 1]], [[1, 1, 1, 1]]).values.round(3)
    array([0.921])
    """
    return _correlations(_biserial, scores, wrong, counted, clusters)


def _correlations(
    of_model: _Correlation, scores: ArrayLike, wrong: ArrayLike, counted: ArrayLike, clusters: ArrayLike | None
) -> MeasuredModels:
    x = np.asarray(scores, dtype=np.float64)
    errors, inside = (np.atleast_2d(np.asarray(part, dtype=bool)) for part in (wrong, counted))
    if errors.shape != inside.shape or errors.shape[1:] != x.shape:
        raise InputError(f"wrong and counted must be (models, {len(x)}), got {errors.shape} and {inside.shape}")
    influence = np.zeros(errors.shape, dtype=np.float32)
    values = np.empty(len(errors))
    for model, (row, places) in enumerate(zip(errors, inside, strict=True)):
        _check(x[places], row[places])
        values[model], of_images = of_model(x[places], row[places].astype(np.float64))
        influence[model, places] = of_images / len(of_images)
    if clusters is not None:
        numbers = np.unique(np.asarray(clusters), return_inverse=True)[1]
        influence = np.stack([np.bincount(numbers, row) for row in influence])
    return MeasuredModels(values, (influence @ influence.T).astype(np.float64))


def _check(scores: FloatArray, wrong: BoolArray) -> None:
    if not wrong.any() or wrong.all():
        raise UndefinedError("a correlation with errors needs wrong and right predictions")
    if np.ptp(scores) == 0:
        raise UndefinedError("a correlation with a constant score has no value")


def _pearson(scores: FloatArray, wrong: FloatArray) -> tuple[float, FloatArray]:
    """Pearson's r, and the influence (n,) of each image on it."""
    u, v = ((part - part.mean()) / part.std() for part in (scores, wrong))
    value = float((u * v).mean())
    return value, u * v - value * (u**2 + v**2) / 2


def _biserial(scores: FloatArray, wrong: FloatArray) -> tuple[float, FloatArray]:
    """The biserial correlation, and the influence (n,) of each image: by its error, and by moving the other ranks."""
    from scipy import stats  # slow to import

    order = np.argsort(scores, kind="stable")
    ranks = (stats.rankdata(scores)[order] - 0.5) / len(scores)
    normal, errors = scipy.special.ndtri(ranks), wrong[order]
    rate = float(errors.mean())
    at_rate = float(scipy.special.ndtri(rate))
    height = float(_density(at_rate))
    product = float((errors * normal).mean())
    value = product / height
    moved = errors / _density(normal) / len(errors)  # how much a higher rank of each image adds to the product
    above = np.cumsum(moved[::-1])[::-1] - float(moved @ ranks)
    in_order = (errors * normal - product + above) / height + value * at_rate / height * (errors - rate)
    influence = np.empty(len(scores))
    influence[order] = in_order - in_order.mean()
    return value, influence


def _density(z: ArrayLike) -> FloatArray:
    density: FloatArray = np.exp(-(np.asarray(z) ** 2) / 2) / np.sqrt(2 * np.pi)
    return density
