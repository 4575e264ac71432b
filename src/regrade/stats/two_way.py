"""Means over models evaluated on the same images, with intervals over both models and images."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import method_name, tail_share
from regrade.stats.shares_of_groups import effective_sizes_of

_BLOCK = 1 << 16  # images processed at a time


def accuracy_covariance(
    right: ArrayLike, counted: ArrayLike | None = None, clusters: ArrayLike | None = None
) -> FloatArray:
    """Shape (m, m): the sampling covariance of the accuracies of m models over images, from ``right`` (m, n).

    Values may be probabilities of being right, from 0 to 1.
    ``counted`` (m, n) marks the images that count for each model (default: all). Models that err on the same images are
    positively correlated. Variances are at least `accuracy_variance`, so that an accuracy of 0 or 1 is not certain.
    Images of one of the ``clusters`` (n,) are treated as dependent; the least variances are then those of the effective
    sample sizes.

    >>> accuracy_covariance([[1, 0, 1, 0], [1, 0, 1, 0]]).round(4)
    array([[0.0833, 0.0833],
           [0.0833, 0.0833]])
    """
    values = np.asarray(right)
    correct = np.atleast_2d(values if values.dtype.kind == "f" else values.astype(bool))
    inside: BoolArray = np.atleast_2d(np.asarray(np.ones(correct.shape) if counted is None else counted, dtype=bool))
    if inside.shape != correct.shape:
        raise InputError(f"right and counted must have the same shape, got {correct.shape} and {inside.shape}")
    images = inside.sum(axis=1)
    if (images < 2).any():
        raise UndefinedError("how an accuracy varies over images takes at least two of them")
    means = np.where(inside, correct, 0.0).sum(axis=1) / images
    if clusters is not None:
        return _clustered_covariance(np.where(inside, correct - means[:, None], 0.0), inside, means, clusters)
    products = np.zeros((len(correct), len(correct)))
    for start in range(0, correct.shape[1], _BLOCK):
        part = slice(start, start + _BLOCK)
        residuals = np.where(inside[:, part], correct[:, part] - means[:, None], 0.0)
        products += residuals @ residuals.T
    spare = np.sqrt(images * (images - 1.0))  # of each model, for the sample variance of a mean
    covariance = products / np.outer(spare, spare)
    return covariance + variance_floor(covariance, means, images)


def _clustered_covariance(
    residuals: FloatArray, inside: BoolArray, means: FloatArray, clusters: ArrayLike
) -> FloatArray:
    """Shape (m, m): the covariance of means (m,), from residuals (m, n) whose sums by cluster vary."""
    parts = np.unique(np.asarray(clusters), return_inverse=True)[1]
    images, counts = inside.sum(axis=1), np.array([len(np.unique(parts[row])) for row in inside])
    if (counts < 2).any():
        raise UndefinedError("how an accuracy varies over clusters of images takes at least two of them")
    factors = np.sqrt(counts / (counts - 1.0)) / images
    sums = np.stack([factor * np.bincount(parts, weights=row) for factor, row in zip(factors, residuals, strict=True)])
    covariance: FloatArray = sums @ sums.T
    worth = np.minimum(effective_sizes_of(means, np.diag(covariance), counts), images)
    return covariance + variance_floor(covariance, means, np.where(counts < images, worth, images))


def variance_floor(covariance: FloatArray, means: FloatArray, images: IntArray | FloatArray) -> FloatArray:
    """Shape (m, m): what the variances lack to reach `accuracy_variance`, as if shared by all models."""
    missing = np.sqrt(np.maximum(accuracy_variance(means, images) - np.diag(covariance), 0.0))
    return np.outer(missing, missing)


def accuracy_variance(accuracies: FloatArray, images: IntArray | FloatArray) -> FloatArray:
    """Return the variance of accuracies (m,) with two right and two wrong images added (Agresti and Coull 1998).

    >>> accuracy_variance(np.array([1.0]), np.array([16])).round(4).tolist()  # 18 of 20
    [0.0045]
    """
    moved = (accuracies * images + 2) / (images + 4)
    variance: FloatArray = moved * (1 - moved) / (images + 4)
    return variance


def largest_covariance(right: ArrayLike, images: ArrayLike) -> FloatArray:
    """Shape (m, m): the largest possible `accuracy_covariance`, if only counts (m,) are known.

    It is reached if a better model has right every image that a worse model has right.
    """
    counts, sizes = np.asarray(right, dtype=np.float64), np.asarray(images, dtype=np.int64)
    means = counts / sizes
    least, most = np.minimum.outer(means, means), np.maximum.outer(means, means)
    covariance: FloatArray = least * (1 - most) / np.minimum.outer(sizes, sizes)
    return covariance + variance_floor(covariance, means, sizes)


def two_way_mean(values: ArrayLike, covariance: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    """Return the mean of ``values`` (m,), one per model, with an interval over both models and images.

    ``covariance`` (m, m) is the sampling covariance of the values over images. The t interval over models is widened by
    the variance that all models share, which does not average out.
    """
    per_model = np.asarray(values, dtype=np.float64)
    shared = np.asarray(covariance, dtype=np.float64)
    models = len(per_model)
    if per_model.ndim != 1 or shared.shape != (models, models):
        raise InputError(f"{per_model.shape} values need a covariance of shape (m, m), got {shared.shape}")
    if models < 2:
        raise UndefinedError("a mean over models needs at least two of them")
    over_images = shared.mean()
    in_residuals = (np.trace(shared) / models - over_images) / (models - 1)
    over_models = per_model.var(ddof=1) / models
    half_width = two_way_half_width(over_models, over_images, in_residuals, models - 1.0, confidence=confidence)
    mean = float(per_model.mean())
    low, high = mean - float(half_width), mean + float(half_width)
    return Estimate(mean, low, high, models, method_name("t over models and images", confidence))


def two_way_half_width(
    over_models: ArrayLike, over_images: ArrayLike, in_residuals: ArrayLike, freedom: ArrayLike, *, confidence: float
) -> FloatArray:
    """Return half-widths of intervals that combine a variance over models (t quantile) and one over images (normal).

    ``in_residuals`` is the part of the variance over images that the variance over models already contains: each
    model's own noise. It is counted once, with the t quantile. The result is at least the half-width over images alone,
    so that models which happen to agree do not look certain.
    """
    upper = 1 - tail_share(confidence)
    of_models = scipy.special.stdtrit(np.asarray(freedom, dtype=np.float64), upper) ** 2 * np.asarray(over_models)
    images, z2 = np.asarray(over_images, dtype=np.float64), scipy.special.ndtri(upper) ** 2
    shared = np.maximum(images - np.asarray(in_residuals), 0.0)
    half_width: FloatArray = np.sqrt(np.maximum(of_models + z2 * shared, z2 * images))
    return half_width


def two_way_clustered_mean(
    values: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """Return the weighted mean of ``values`` (n,), which are grouped in two ways, with a t interval over both.

    ``first`` and ``second`` (n,) are the numbers of the groups, such as the image and the worker of each answer; values
    that share either are dependent. The variances over both kinds of groups are added, less that of their combinations
    (Cameron, Gelbach and Miller 2011), each with its small-sample factor; the degrees of freedom are those of the kind
    with fewer groups. Bounds of shares stay within [0, 1]; if all are 0 or all are 1, the interval is the exact one for
    so many groups.

    >>> print(two_way_clustered_mean([1, 1, 0, 1, 0, 0], [0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1]))
    50.0 [0.0, 100.0]
    """
    x = np.asarray(values, dtype=np.float64)
    share = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=np.float64)
    rows, columns = (np.unique(np.asarray(groups), return_inverse=True)[1] for groups in (first, second))
    if not len(x) == len(share) == len(rows) == len(columns):
        raise InputError("values, groups and weights must have the same length")
    smallest = min(int(rows.max(initial=-1)), int(columns.max(initial=-1))) + 1
    if smallest < 2:
        raise UndefinedError("a mean over two kinds of groups needs at least two groups of each")
    share = share / share.sum()
    mean = float(share @ x)
    residuals = share * (x - mean)
    cells = np.unique(rows * (int(columns.max()) + 1) + columns, return_inverse=True)[1]
    by_row, by_column, by_cell = (_cluster_variance(residuals, groups) for groups in (rows, columns, cells))
    variance = max(by_row + by_column - by_cell, by_row, by_column)
    half_width = float(scipy.special.stdtrit(smallest - 1.0, 1 - tail_share(confidence))) * float(np.sqrt(variance))
    low, high = mean - half_width, mean + half_width
    if x.min() >= 0 and x.max() <= 1:
        edge = 1 - tail_share(confidence) ** (1 / smallest)  # exact for a share of 0 or 1 in so many groups
        low, high = max(low if variance else mean - edge, 0.0), min(high if variance else mean + edge, 1.0)
    return Estimate(mean, low, high, len(x), method_name("t over two kinds of groups", confidence))


def _cluster_variance(residuals: FloatArray, groups: IntArray) -> float:
    """The variance of a mean, from the sums of weighted residuals per group."""
    sums = np.bincount(groups, residuals)
    return float(sums @ sums) * len(sums) / max(len(sums) - 1, 1)
