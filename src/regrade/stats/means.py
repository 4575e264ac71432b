"""Means over images from stratified or clustered samples."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import exact_bounds, method_name, tail_share


@dataclass(frozen=True)
class Spread:
    """Means (m,) with variances and degrees of freedom; ``plain_size`` is the sample size if nothing varies."""

    means: FloatArray
    variances: FloatArray
    freedom: FloatArray
    plain_size: float
    n: int


def stratified_mean(
    values: ArrayLike, strata: ArrayLike, *, weights: ArrayLike | None = None, confidence: float = 0.95
) -> list[Estimate]:
    """Return weighted means over strata with t intervals, for each row of ``values`` (m, n) or (n,).

    ``strata`` (n,) is each image's stratum; ``weights`` follow the sorted strata (default: equal, the macro mean).
    Each stratum's variance is shrunk towards the overall one with the weight of one image, so that a few images that
    happen to agree do not look certain; with strata of equal size and weight this is the textbook variance. The
    degrees of freedom are Satterthwaite's.
    """
    return _t_intervals(stratified(values, strata, weights), "stratified t", confidence)


def stratified_proportion(
    correct: ArrayLike, strata: ArrayLike, *, weights: ArrayLike | None = None, confidence: float = 0.95
) -> list[Estimate]:
    """Return weighted proportions over strata, as `stratified_mean`, with Korn-Graubard intervals for 0/1 values.

    These are Clopper-Pearson intervals at the effective sample size, so they stay within [0, 1] and have a positive
    width even if every image is right.
    """
    return korn_graubard(stratified(_zero_or_one(correct), strata, weights), "stratified korn-graubard", confidence)


def clustered_mean(values: ArrayLike, clusters: ArrayLike, *, confidence: float = 0.95) -> list[Estimate]:
    """Return means over clustered images with t intervals, for each row of ``values`` (m, n) or (n,).

    The (linearized) variance is that of the cluster totals, so images of one household or photographer do not count as
    independent. Fewer than two clusters raises.
    """
    return _t_intervals(_clustered(values, clusters), "clustered t", confidence)


def clustered_proportion(correct: ArrayLike, clusters: ArrayLike, *, confidence: float = 0.95) -> list[Estimate]:
    """Return proportions over clustered images, with Korn-Graubard intervals for 0/1 values."""
    return korn_graubard(_clustered(_zero_or_one(correct), clusters), "clustered korn-graubard", confidence)


def stratified(values: ArrayLike, strata: ArrayLike, weights: ArrayLike | None) -> Spread:
    """Return the weighted means over strata of `stratified_mean`, with variances and degrees of freedom."""
    rows, members, sizes = _grouped(values, strata)
    shares = _normalized(weights, len(sizes))
    if (sizes == 1).all():
        raise UndefinedError("every stratum has a single image: the variance within strata is unknown")
    means = _sums_by_group(rows, members) / sizes
    squares = _sums_by_group((rows - means[:, members]) ** 2, members)
    costs = shares**2 / sizes
    parts = costs * _per_image(rows, members, squares, sizes, costs)
    variances = parts.sum(axis=1)
    spare = np.maximum(sizes - 1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = np.where(variances > 0, variances**2 / (parts**2 / spare).sum(axis=1), spare.sum())
    return Spread(means @ shares, variances, freedom, float(1 / costs.sum()), rows.shape[1])


def _per_image(
    rows: FloatArray, members: IntArray, squares: FloatArray, sizes: IntArray, costs: FloatArray
) -> FloatArray:
    """Shape (m, h): the variance of one image of each stratum.

    Strata with a single image borrow the overall variance; if there are several, the variance between them is used
    where it is larger.
    """
    borrowed = _borrowed(squares, sizes, costs)
    variances = (squares + borrowed) / sizes
    single = sizes == 1
    if single.sum() > 1:
        between = rows[:, single[members]].var(axis=1, ddof=1)[:, None]
        variances = np.where(single, np.maximum(borrowed, between), variances)
    return variances


def _borrowed(squares: FloatArray, sizes: IntArray, costs: FloatArray) -> FloatArray:
    """Shape (m, 1): the variance of one image over all strata, weighted by images or by ``costs``.

    The larger of the two is used: small strata must not borrow the small variance of large easy ones, nor strata with
    large weights that of a few images.
    """
    several = sizes > 1
    own = squares / np.maximum(sizes - 1, 1)
    by_images = squares.sum(axis=1) / (sizes - 1).sum()
    by_costs = own @ (costs * several) / max(costs[several].sum(), np.finfo(float).tiny)
    return np.maximum(by_images, by_costs)[:, None]


def _clustered(values: ArrayLike, clusters: ArrayLike) -> Spread:
    rows, members, sizes = _grouped(values, clusters)
    groups, n = len(sizes), rows.shape[1]
    if groups < 2:
        raise UndefinedError("a clustered interval needs at least two clusters")
    totals = _sums_by_group(rows, members)
    everything = totals.sum(axis=1)
    # times n: integers for 0/1 values, so that identical clusters give exactly 0
    residuals = (n * totals - everything[:, None] * sizes) / n
    variances = groups / (groups - 1) * (residuals**2).sum(axis=1) / n**2
    return Spread(everything / n, variances, np.full(len(rows), groups - 1.0), float(groups), n)


def _grouped(values: ArrayLike, groups: ArrayLike) -> tuple[FloatArray, IntArray, IntArray]:
    rows = np.atleast_2d(np.asarray(values, dtype=np.float64))
    _, members, sizes = np.unique(np.asarray(groups), return_inverse=True, return_counts=True)
    if rows.shape[1] != len(members):
        raise InputError(f"{rows.shape[1]} values but {len(members)} group entries")
    if not rows.shape[1]:
        raise UndefinedError("a mean needs at least one image, got 0")
    if not np.isfinite(rows).all():
        raise InputError("a mean needs finite numbers")
    return rows, members, sizes


def _zero_or_one(correct: ArrayLike) -> FloatArray:
    values = np.asarray(correct, dtype=np.float64)
    if not ((values == 0) | (values == 1)).all():
        raise InputError("a proportion needs values that are 1 (right) or 0 (wrong)")
    return values


def _sums_by_group(rows: FloatArray, members: IntArray) -> FloatArray:
    return np.stack([np.bincount(members, weights=row) for row in rows])


def _normalized(weights: ArrayLike | None, strata: int) -> FloatArray:
    shares = np.ones(strata) if weights is None else np.asarray(weights, dtype=np.float64)
    if shares.shape != (strata,) or (shares < 0).any() or shares.sum() <= 0:
        raise InputError(f"weights must be {strata} non-negative numbers, not all of them 0")
    return shares / shares.sum()


def _t_intervals(spread: Spread, method: str, confidence: float) -> list[Estimate]:
    half_width = special.stdtrit(spread.freedom, 1 - tail_share(confidence)) * np.sqrt(spread.variances)
    return _estimates(spread, spread.means - half_width, spread.means + half_width, method_name(method, confidence))


def korn_graubard(spread: Spread, method: str, confidence: float) -> list[Estimate]:
    """Return proportions with Clopper-Pearson intervals at their effective sample sizes."""
    shares = np.clip(spread.means, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = shares * (1 - shares) / spread.variances
    sizes = np.where(spread.variances > 0, sizes, spread.plain_size)
    upper = 1 - tail_share(confidence)
    sizes *= (special.stdtrit(max(spread.n - 1, 1), upper) / special.stdtrit(spread.freedom, upper)) ** 2
    bounds = exact_bounds(shares * sizes, sizes, confidence=confidence)
    name = method_name(method, confidence)
    return _estimates(replace(spread, means=shares), bounds.low, bounds.high, name)


def _estimates(spread: Spread, low: FloatArray, high: FloatArray, method: str) -> list[Estimate]:
    rows = zip(spread.means, low, high, strict=True)
    return [Estimate(float(v), float(lo), float(hi), spread.n, method) for v, lo, hi in rows]
