"""Post-stratification: a proportion transferred to other images with a different mix of strata."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.means import korn_graubard, stratified


def reweighted_proportion(
    values: ArrayLike, strata: ArrayLike, target_strata: ArrayLike, *, confidence: float = 0.95
) -> Estimate:
    """Estimate the proportion of 0/1 ``values`` (n,) among target images of which only the strata are known.

    ``strata`` (n,) and ``target_strata`` (u,) are integers from 0; each stratum's proportion is weighted by its
    frequency among the target images (post-stratification). This assumes that images of the same stratum are comparable
    in both sets. The interval covers the sampling of both: the variance within strata, as in `stratified_proportion`,
    and that of the strata sizes among the targets. It is a Clopper-Pearson interval at the effective sample size
    (Korn-Graubard). Raises if a target stratum has no values. ``n`` of the result is the number of values.
    """
    source, target = np.asarray(strata), np.asarray(target_strata)
    if not len(target):
        raise UndefinedError("a proportion needs at least one target image, got 0")
    count = int(max(source.max(initial=-1), target.max())) + 1
    sizes, target_sizes = (np.bincount(members, minlength=count) for members in (source, target))
    if (target_sizes[sizes == 0] > 0).any():
        raise InputError("a stratum of the target images has no values")
    weights = (target_sizes / target_sizes.sum())[sizes > 0]
    spread = stratified(values, source, weights)
    shares = np.bincount(source, np.asarray(values, dtype=np.float64), minlength=count)[sizes > 0] / sizes[sizes > 0]
    between = float((weights * (shares - weights @ shares) ** 2).sum()) / len(target)
    spread = replace(spread, variances=spread.variances + between)
    return korn_graubard(spread, "post-stratified korn-graubard", confidence)[0]
