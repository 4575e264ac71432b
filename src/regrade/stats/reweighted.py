"""A share carried over to other images: those that are alike by a score are taken to err alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.means import korn_graubard, stratified


def reweighted_proportion(
    values: ArrayLike, strata: ArrayLike, other_strata: ArrayLike, *, confidence: float = 0.95
) -> Estimate:
    """The share that 0/1 ``values`` (n,) would have among other images, of which only the strata are known.

    ``strata`` (n,) and ``other_strata`` (u,) are whole numbers from 0 on; each stratum's share counts as often as the
    stratum occurs among the others (post-stratification). That holds if images of one stratum are alike in both
    sets. The interval covers the drawing of both: the variance within strata, as `stratified_proportion` has it, and
    that of the strata's sizes among the others; it is a Clopper-Pearson interval at the sample size that they are
    worth (Korn-Graubard). An image whose stratum has no value raises. ``n`` counts the images with values.
    """
    known, wanted = np.asarray(strata), np.asarray(other_strata)
    if not len(wanted):
        raise UndefinedError("a share among no images has no value")
    count = int(max(known.max(initial=-1), wanted.max())) + 1
    sizes, others = (np.bincount(each, minlength=count) for each in (known, wanted))
    if (others[sizes == 0] > 0).any():
        raise InputError("some images are of a stratum that has no values")
    weights = (others / others.sum())[sizes > 0]
    spread = stratified(values, known, weights)
    shares = np.bincount(known, np.asarray(values, dtype=np.float64), minlength=count)[sizes > 0] / sizes[sizes > 0]
    between = float((weights * (shares - weights @ shares) ** 2).sum()) / len(wanted)
    spread = replace(spread, variances=spread.variances + between)
    return korn_graubard(spread, "post-stratified korn-graubard", confidence)[0]
