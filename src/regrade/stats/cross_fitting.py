"""The area under the ROC curve of scores that were cross-fitted: each image is scored without having been seen."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.means import Spread, korn_graubard

_EPSILON = 1e-20  # a sum of squares below this is rounding error
_SHARED = 2.0  # each pair of folds enters twice, as training and as test images, so that their areas are correlated


def cluster_folds(positive: ArrayLike, clusters: ArrayLike, count: int, *, rng: np.random.Generator) -> IntArray:
    """Shape (n,): divide images into ``count`` folds of about equal size, with about equal shares of both classes.

    Images of one of the ``clusters`` (n,) are in the same fold, so that no cluster is in both training and test images.
    Raises if a fold would lack a class.
    """
    is_positive = np.asarray(positive, dtype=bool)
    members, cluster = np.unique(np.asarray(clusters), return_inverse=True)
    sizes = np.stack([np.bincount(cluster, side, len(members)) for side in (is_positive, ~is_positive)], axis=1)
    shares = sizes / np.maximum(sizes.sum(axis=0), 1)
    loads, chosen = np.zeros((count, 2)), np.zeros(len(members), dtype=np.int64)
    order = rng.permutation(len(members))
    for number in order[np.argsort(-shares[order].sum(axis=1), kind="stable")].tolist():
        chosen[number] = int((loads * (shares[number] > 0)).sum(axis=1).argmin())
        loads[chosen[number]] += shares[number]
    if not loads.all():
        raise UndefinedError(f"there are too few images, or clusters of images, of one kind for {count} folds")
    return chosen[cluster]


def cross_fitted_auc(
    scores: ArrayLike, positive: ArrayLike, folds: ArrayLike, *, clusters: ArrayLike, confidence: float = 0.95
) -> Estimate:
    """Return the area under the ROC curve of ``scores`` (n,), compared within ``folds`` (n,) only.

    Scores of different folds come from different fits, and pooling them would bias the area. The variance is that of
    DeLong et al. (1988) with the components of all folds (LeDell et al. 2015), summed over ``clusters`` (n,)
    (Obuchowski 1997), and doubled: if both kinds of images have the same distribution, the areas of two folds have in
    common how far the images of one happen to resemble those of the other. Without that, only 86% of 95% intervals
    contain 0.5 for many features. The interval is that of Clopper and Pearson at the effective sample size, for the
    mean area of the classifiers of the folds, given their training images; it is too wide where that is far from 0.5.
    Ties count as half.
    """
    values, is_positive = np.asarray(scores, dtype=np.float64), np.asarray(positive, dtype=bool)
    fold, cluster = (np.unique(np.asarray(groups), return_inverse=True)[1] for groups in (folds, clusters))
    if not len(values) == len(is_positive) == len(fold) == len(cluster):
        raise InputError("scores, classes, folds and clusters must have the same length")
    above, errors = _components(values, is_positive, fold)
    by_cluster = np.bincount(cluster, errors)
    pieces = len(by_cluster)
    fewest = min(len(np.unique(cluster[side])) for side in (is_positive, ~is_positive))
    if fewest < 2:
        raise UndefinedError("an area under the curve needs two clusters of images of each kind")
    squares = float(by_cluster @ by_cluster)
    variance = _SHARED * squares * pieces / (pieces - 1) if squares > _EPSILON else 0.0
    smallest = min(int(is_positive.sum()), int((~is_positive).sum()))
    spread = Spread(
        np.array([above]), np.array([variance]), np.array([fewest - 1.0]), float(min(smallest, fewest)), len(values)
    )
    return korn_graubard(spread, "cross-fitted delong", confidence)[0]


def _components(values: FloatArray, positive: BoolArray, fold: IntArray) -> tuple[float, FloatArray]:
    """The area, and the contribution of each image (n,) to its error."""
    placed, weight = np.zeros(len(values)), np.zeros(len(values))
    for number in range(int(fold.max(initial=-1)) + 1):
        sides = [np.flatnonzero((fold == number) & side) for side in (positive, ~positive)]
        if not all(len(side) for side in sides):
            raise UndefinedError("a fold lacks images of one kind")
        ups, downs = sides
        placed[ups] = share_below(values[ups], values[downs])
        placed[downs] = 1 - share_below(values[downs], values[ups])
        weight[ups], weight[downs] = 1.0, len(ups) / len(downs)
    weight /= positive.sum()
    area = float(placed[positive] @ weight[positive])
    return area, weight * (placed - area)


def share_below(values: FloatArray, compared: FloatArray) -> FloatArray:
    """Shape (n,): the share of ``compared`` (k,) below each value; ties count as half."""
    ordered = np.sort(compared)
    both = np.searchsorted(ordered, values, side="left") + np.searchsorted(ordered, values, side="right")
    return np.asarray(both / (2 * len(ordered)))
