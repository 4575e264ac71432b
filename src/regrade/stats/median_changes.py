"""The median over models of a change that some images gain and others lose, with an interval over images."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from regrade.core import Estimate, InputError, UndefinedError
from regrade.core.arrays import FloatArray, IntArray
from regrade.stats.intervals import method_name, tail_share

_DRAWS = 10_000


def median_change(
    changes: ArrayLike, clusters: ArrayLike | None = None, *, rng: np.random.Generator, confidence: float = 0.95
) -> Estimate:
    """Return the median over models of the mean of ``changes`` (m, n), which are 1 (gained), 0, or -1 (lost).

    The interval is about these models on other images: it has the percentiles of the median of normal means, whose
    covariance is that of the models on the same images. As in Agresti and Min 2005, the covariance has half an image
    that is gained and half a one that is lost added, so that changes which do not occur in a small sample are not
    certain. Images of one of the ``clusters`` (n,) are dependent: half a cluster of mean size, weighted by images, is
    added instead of half an image. No model, or fewer than two images, raises.

    >>> print(median_change(np.repeat([[1, 0, -1]], [8, 90, 2], axis=1), rng=np.random.Generator(np.random.PCG64(0))))
    6.0 [-0.3, 12.3]
    """
    rows = np.asarray(changes, dtype=np.float64)
    if rows.ndim != 2 or not rows.shape[0] or rows.shape[1] < 2:
        raise UndefinedError("a median change needs a model and two images")
    if not np.isin(rows, (-1, 0, 1)).all():
        raise InputError("a change must be 1 (gained), 0 or -1 (lost)")
    numbers = np.arange(rows.shape[1]) if clusters is None else np.unique(np.asarray(clusters), return_inverse=True)[1]
    if len(numbers) != rows.shape[1]:
        raise InputError(f"{rows.shape[1]} images but {len(numbers)} cluster entries")
    means, images = rows.mean(axis=1), rows.shape[1]
    middle = float(np.median(means))
    medians = np.median(_normal_means(means, _covariance(rows, numbers), rng), axis=1)
    tail = tail_share(confidence)
    low, high = np.quantile(medians, [tail, 1 - tail])
    low, high = max(min(float(low), middle), -1.0), min(max(float(high), middle), 1.0)
    kind = "median of models, normal" if clusters is None else "median of models, clustered normal"
    return Estimate(middle, low, high, images, method_name(kind, confidence))


def _covariance(rows: FloatArray, clusters: IntArray) -> FloatArray:
    """Shape (m, m): the covariance of the means, with a cluster added that each model half gains and half loses.

    One more cluster, which stays the same, is added too, so that one image per cluster gives Agresti and Min's.
    """
    sizes = np.bincount(clusters)
    size = float(sizes @ sizes / sizes.sum())
    images = rows.shape[1] + 2 * size
    means = rows.sum(axis=1) / images
    sums = np.stack([np.bincount(clusters, row) for row in rows - means[:, None]])
    squares = sums @ sums.T + size**2 * (1 + 2 * np.outer(means, means))
    return np.asarray(squares / images**2)


def _normal_means(means: FloatArray, covariance: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Shape (draws, m): draws of normal means; the covariance may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0))
    return np.asarray(means + rng.standard_normal((_DRAWS, len(means))) @ root.T)
