"""Paired comparison of models on clustered images: what the discordant images of households are worth.

Images of one household are alike, so that two models often differ on several of them at once. The design effect of a
pair is the variance of its number of wins over that of as many independent discordant images. All tests and intervals
of `paired` are valid for the counts divided by it, the effective counts (Rao and Scott 1992).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import method_name
from regrade.stats.multiplicity import bonferroni_confidence
from regrade.stats.paired import discordant_counts, score_bounds
from regrade.stats.shares_of_groups import group_shares


def design_effects(correct: ArrayLike, clusters: ArrayLike) -> FloatArray:
    """Shape (m, m): the design effect of each pair of models, from ``correct`` (m, n) and ``clusters`` (n,).

    If two models are equally accurate, every cluster is as likely to have d more wins for one of them as for the other
    one (a sign test of clusters): the variance of all wins is the sum of the squares of d, that of b + c independent
    images is b + c. One more cluster of mean size (weighted by images) that only one model has right is counted where
    this gives more, so that few discordant images do not look independent by luck. The effect is at least 1: less would
    reward clusters in which the wins of both models cancel. One image per cluster gives 1, and so the plain tests.

    >>> correct = np.repeat([[1, 0, 1, 1], [0, 1, 0, 0]], 3, axis=1)  # wins of 3, -3, 3 and 3 in clusters of 3
    >>> float(design_effects(correct, np.arange(12) // 3)[0, 1])
    3.0
    """
    rows = np.atleast_2d(np.asarray(correct, dtype=bool))
    _, members, sizes = np.unique(np.asarray(clusters), return_inverse=True, return_counts=True)
    if rows.shape[1] != len(members):
        raise InputError(f"{rows.shape[1]} images but {len(members)} cluster entries")
    totals = np.stack([np.bincount(members, weights=row) for row in rows])
    products = totals @ totals.T
    squares = np.diag(products)
    counts = discordant_counts(rows)
    discordant = counts + counts.T
    variances = squares[:, None] + squares - 2 * products
    size = sizes @ sizes / sizes.sum()
    with_another = (variances + size**2) / (discordant + size)
    effects: FloatArray = np.maximum(np.maximum(variances / np.maximum(discordant, 1), with_another), 1.0)
    return effects


def share_design_effect(right: ArrayLike, clusters: ArrayLike) -> float:
    """Return the design effect of the share of ``right`` (n,), for tests of counts of images in ``clusters`` (n,).

    The variance of the cluster totals over that of as many independent images. As in `design_effects`, one more cluster
    of mean size (weighted by images) that has all right, or all wrong, is counted where this gives more, and the effect
    is at least 1. One image per cluster gives 1.

    >>> round(share_design_effect(np.repeat([1, 1, 0, 1, 0], 3), np.arange(15) // 3), 6)
    3.75
    """
    values = np.asarray(right, dtype=np.float64)
    _, members, sizes = np.unique(np.asarray(clusters), return_inverse=True, return_counts=True)
    if len(values) != len(members):
        raise InputError(f"{len(values)} images but {len(members)} cluster entries")
    if not len(values):
        raise UndefinedError("a share needs at least one image, got 0")
    if len(sizes) == len(values):
        return 1.0
    totals, size = np.bincount(members, weights=values), sizes @ sizes / sizes.sum()
    with_another = ((np.append(totals, more), np.append(sizes, size)) for more in (0.0, size))
    return max(1.0, *(_variance_ratio(*part) for part in ((totals, sizes), *with_another)))


def _variance_ratio(totals: FloatArray, sizes: FloatArray) -> float:
    """The variance of the sum of cluster totals, over that of independent images with the same share."""
    images = float(sizes.sum())
    share = float(totals.sum()) / images
    independent = images * share * (1 - share)
    if not independent:
        return 1.0
    return float(((totals - share * sizes) ** 2).sum()) / independent * len(sizes) / max(len(sizes) - 1, 1)


def design_effect(first: BoolArray, second: BoolArray, clusters: IntArray) -> float:
    """Return the design effect of one pair of models, from the correctness (n,) of both."""
    return float(design_effects(np.stack([first, second]), clusters)[0, 1])


def paired_share_difference(
    first: BoolArray, second: BoolArray, clusters: IntArray | None = None, *, confidence: float = 0.95
) -> Estimate:
    """Return the share of images that the ``first`` (n,) has right minus that of the ``second`` (n,), paired.

    The score interval of `paired_difference`, of the effective counts if images of ``clusters`` (n,) are dependent.

    >>> print(paired_share_difference(np.arange(100) < 70, np.arange(100) < 60))
    10.0 [5.5, 17.4]
    """
    if len(first) != len(second):
        raise InputError(f"{len(first)} images but {len(second)} of the other")
    if not len(first):
        raise UndefinedError("a difference needs at least one image, got 0")
    gained, lost = int((first & ~second).sum()), int((second & ~first).sum())
    effect = 1.0 if clusters is None else design_effect(first, second, clusters)
    bounds = score_bounds(*(np.array(count / effect) for count in (gained, lost, len(first))), confidence=confidence)
    method = method_name("paired score" if clusters is None else "clustered paired score", confidence)
    value = (gained - lost) / len(first)
    return Estimate(value, min(float(bounds.low), value), max(float(bounds.high), value), len(first), method)


def clustered_best_share(correct: BoolArray, clusters: IntArray, *, confidence: float = 0.95) -> Estimate:
    """Return the largest of m accuracies from ``correct`` (m, n), with an interval for the truth of the selected model.

    Both bounds hold simultaneously for all models (Bonferroni), with Korn-Graubard intervals over clusters.
    """
    if not correct.shape[1]:
        raise UndefinedError("an accuracy needs at least one image, got 0")
    models, place = len(correct), int(np.argmax(correct.mean(axis=1)))
    corrected = bonferroni_confidence(models, confidence)
    best = clustered_share(correct[place], clusters, confidence=corrected)
    named = replace(best, method=best.method.replace("korn-graubard", f"korn-graubard for the best of {models:,}"))
    return replace(named, method=method_name(named.method.rpartition(" ")[0], confidence)) if models > 1 else best


def clustered_share(scores: ArrayLike, clusters: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    """Return the mean of ``scores`` (n,) in [0, 1] over clustered images, with a Korn-Graubard interval.

    This is the Clopper-Pearson interval at the effective sample size of the linearized variance of the cluster totals,
    reduced for few clusters (Korn and Graubard 1998); if nothing varies, that is the number of clusters. It is [0, 1]
    for a single cluster, which says nothing of others.

    >>> print(clustered_share(np.tile([1, 1, 0, 1], 50), np.arange(200) // 2))
    75.0 [69.6, 79.9]
    """
    values, members = np.asarray(scores), np.asarray(clusters)
    if values.shape != members.shape or values.ndim != 1:
        raise InputError(f"{len(values)} values but {len(members)} cluster entries")
    if not len(values):
        raise UndefinedError("a share needs at least one image, got 0")
    shares = group_shares(values, np.zeros(len(values), dtype=np.int64), members)
    bounds = shares.exact(confidence)
    method = method_name("clustered korn-graubard", confidence)
    return Estimate(float(shares.values[0]), float(bounds.low[0]), float(bounds.high[0]), len(values), method)
