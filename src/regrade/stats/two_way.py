"""Means over models that answered the same images: other models and other images would both have changed them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import method_name, tail_share

_BLOCK = 1 << 16  # images whose answers are multiplied at a time


def accuracy_covariance(right: ArrayLike, counted: ArrayLike | None = None) -> FloatArray:
    """Shape (m, m): how the accuracies of m models vary together over drawings of images.

    From answers (m, n) that are right or not. ``counted`` (m, n) says which images count for which model, all of them
    unless given. Two models that err on the same images vary together. An accuracy near 0 or 1 varies at least as
    `accuracy_variance` says: all right is not certain.

    >>> accuracy_covariance([[1, 0, 1, 0], [1, 0, 1, 0]]).round(4)
    array([[0.0833, 0.0833],
           [0.0833, 0.0833]])
    """
    answers = np.atleast_2d(np.asarray(right, dtype=bool))
    inside: BoolArray = np.ones_like(answers) if counted is None else np.atleast_2d(np.asarray(counted, dtype=bool))
    if inside.shape != answers.shape:
        raise InputError(f"answers of shape {answers.shape} are counted by {inside.shape}")
    images = inside.sum(axis=1)
    if (images < 2).any():
        raise UndefinedError("how an accuracy varies over images takes at least two of them")
    means = (answers & inside).sum(axis=1) / images
    products = np.zeros((len(answers), len(answers)))
    for start in range(0, answers.shape[1], _BLOCK):
        part = slice(start, start + _BLOCK)
        residuals = np.where(inside[:, part], answers[:, part] - means[:, None], 0.0)
        products += residuals @ residuals.T
    spare = np.sqrt(images * (images - 1.0))  # of each model, so that a variance is that of a sample
    covariance: FloatArray = products / np.outer(spare, spare)
    return covariance + shared_rest(covariance, means, images)


def shared_rest(covariance: FloatArray, means: FloatArray, images: IntArray) -> FloatArray:
    """Shape (m, m): what the variances lack of `accuracy_variance`, as if all models shared it."""
    lacking = np.sqrt(np.maximum(accuracy_variance(means, images) - np.diag(covariance), 0.0))
    return np.outer(lacking, lacking)


def accuracy_variance(accuracies: FloatArray, images: IntArray) -> FloatArray:
    """The variance of accuracies (m,) with two right and two wrong answers more (Agresti and Coull 1998).

    >>> accuracy_variance(np.array([1.0]), np.array([16])).round(4).tolist()  # 18 of 20
    [0.0045]
    """
    moved = (accuracies * images + 2) / (images + 4)
    variance: FloatArray = moved * (1 - moved) / (images + 4)
    return variance


def largest_covariance(right: ArrayLike, images: ArrayLike) -> FloatArray:
    """Shape (m, m): the covariance of `accuracy_covariance` where only counts (m,) are known, at its largest.

    That is where models err on the same images as far as their accuracies allow: what a worse model has right, a
    better one has right too.
    """
    counts, sizes = np.asarray(right, dtype=np.float64), np.asarray(images, dtype=np.int64)
    means = counts / sizes
    least, most = np.minimum.outer(means, means), np.maximum.outer(means, means)
    covariance: FloatArray = least * (1 - most) / np.minimum.outer(sizes, sizes)
    return covariance + shared_rest(covariance, means, sizes)


def two_way_mean(values: ArrayLike, covariance: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    """The mean of ``values`` (m,), one a model, with an interval over other models and other images.

    ``covariance`` (m, m) is that of the values over drawings of images. To the t interval over models it adds what all
    models share of the images, which no number of models averages out.
    """
    own = np.asarray(values, dtype=np.float64)
    shared = np.asarray(covariance, dtype=np.float64)
    models = len(own)
    if own.ndim != 1 or shared.shape != (models, models):
        raise InputError(f"{own.shape} values need a covariance of shape (m, m), got {shared.shape}")
    if models < 2:
        raise UndefinedError("a mean over models needs at least two of them")
    over_images = shared.mean()
    in_residuals = (np.trace(shared) / models - over_images) / (models - 1)
    reach = two_way_reach(own.var(ddof=1) / models, over_images, in_residuals, models - 1.0, confidence=confidence)
    mean = float(own.mean())
    low, high = mean - float(reach), mean + float(reach)
    return Estimate(mean, low, high, models, method_name("t over models and images", confidence))


def two_way_reach(
    over_models: ArrayLike, over_images: ArrayLike, in_residuals: ArrayLike, freedom: ArrayLike, *, confidence: float
) -> FloatArray:
    """Half the length of intervals for numbers with these variances, those over models with few degrees of freedom.

    ``in_residuals`` is the part of the variance over images that the variance over models holds already: each model's
    own noise. It is counted once, with the few degrees of freedom, so that models which happen to agree prove nothing.
    """
    upper = 1 - tail_share(confidence)
    of_models = special.stdtrit(np.asarray(freedom, dtype=np.float64), upper) ** 2 * np.asarray(over_models)
    images, known = np.asarray(over_images, dtype=np.float64), special.ndtri(upper) ** 2
    shared = np.maximum(images - np.asarray(in_residuals), 0.0)
    reach: FloatArray = np.sqrt(np.maximum(of_models + known * shared, known * images))
    return reach
