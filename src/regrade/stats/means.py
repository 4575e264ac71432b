"""Means with intervals: stratified, clustered and reweighted samples, bounded losses, sizes of noisy errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import ArrayLike

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.influence import influence_effects
from regrade.stats.intervals import exact_bounds, method_name, normal_quantile, tail_share

_PART = 0.5
"""The part of a cluster that may be missing: in simulations, less covers too little for rare large values."""

MANY = 1000
"""From so many values on, their variance tells how far the mean may be off."""

_UNKNOWN = 1e9  # a variance of shares that leaves an effective size of nothing
_GOLDEN = (np.sqrt(5) - 1) / 2  # its multiples spread neighbors far apart
_BOLDEST = 0.75  # share of the capital that a bet may put at risk
_STEPS = 40  # halvings in the search for a bound
_EQUAL = 1e-12  # the range of values that differ by rounding alone
_HALF_NORMAL_MEAN = np.sqrt(2 / np.pi)


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
    width even if every image is right. They are too short if few strata of unequal size determine the variance: of two
    strata with 950 and 50 images and proportions of 0.97, 79% of 95% intervals cover. See `balanced_proportion`.
    """
    return korn_graubard(stratified(_zero_or_one(correct), strata, weights), "stratified korn-graubard", confidence)


def clustered_mean(values: ArrayLike, clusters: ArrayLike, *, confidence: float = 0.95) -> list[Estimate]:
    """Return means over clustered images with t intervals, for each row of ``values`` (m, n) or (n,).

    The (linearized) variance is that of the cluster totals, so images of one household or photographer do not count as
    independent. Fewer than two clusters raises.
    """
    return _t_intervals(_clustered(values, clusters), "clustered t", confidence)


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
    half_width = scipy.special.stdtrit(spread.freedom, 1 - tail_share(confidence)) * np.sqrt(spread.variances)
    return _estimates(spread, spread.means - half_width, spread.means + half_width, method_name(method, confidence))


def korn_graubard(spread: Spread, method: str, confidence: float) -> list[Estimate]:
    """Return proportions with Clopper-Pearson intervals at their effective sample sizes."""
    shares = np.clip(spread.means, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = shares * (1 - shares) / spread.variances
    sizes = np.where(spread.variances > 0, sizes, spread.plain_size)
    upper = 1 - tail_share(confidence)
    sizes *= (scipy.special.stdtrit(max(spread.n - 1, 1), upper) / scipy.special.stdtrit(spread.freedom, upper)) ** 2
    bounds = exact_bounds(shares * sizes, sizes, confidence=confidence)
    name = method_name(method, confidence)
    return _estimates(replace(spread, means=shares), bounds.low, bounds.high, name)


def _estimates(spread: Spread, low: FloatArray, high: FloatArray, method: str) -> list[Estimate]:
    rows = zip(spread.means, low, high, strict=True)
    return [Estimate(float(v), float(lo), float(hi), spread.n, method) for v, lo, hi in rows]


def reweighted_proportion(
    values: ArrayLike,
    strata: ArrayLike,
    target_strata: ArrayLike,
    clusters: ArrayLike | None = None,
    target_clusters: ArrayLike | None = None,
    *,
    confidence: float = 0.95,
) -> Estimate:
    """Estimate the proportion of 0/1 ``values`` (n,) among target images of which only the strata are known.

    ``strata`` (n,) and ``target_strata`` (u,) are integers from 0; each stratum's proportion is weighted by its
    frequency among the target images (post-stratification). This assumes that images of the same stratum are comparable
    in both sets. The interval covers the sampling of both: the variance within strata, as in `stratified_proportion`,
    and that of the strata sizes among the targets. It is a Clopper-Pearson interval at the effective sample size
    (Korn-Graubard). Raises if a target stratum has no values. ``n`` of the result is the number of values. Images of
    one of the ``clusters`` (n,) or ``target_clusters`` (u,) are dependent: each variance is multiplied by its design
    effect.
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
    scores = np.asarray(values, dtype=np.float64)
    every = np.divide(np.bincount(source, scores, minlength=count), sizes, out=np.zeros(count), where=sizes > 0)
    shares = every[sizes > 0]
    between = float((weights * (shares - weights @ shares) ** 2).sum()) / len(target)
    name = "post-stratified korn-graubard"
    if clusters is not None:
        influence = (target_sizes / target_sizes.sum() / np.maximum(sizes, 1))[source] * (scores - every[source])
        spread = over_clusters(spread, influence, clusters)
        name = f"clustered {name}"
    if target_clusters is not None:
        between *= float(influence_effects(every[target] - weights @ shares, target_clusters)[0])
    spread = replace(spread, variances=spread.variances + between)
    return korn_graubard(spread, name, confidence)[0]


def over_clusters(spread: Spread, influence: FloatArray, clusters: ArrayLike) -> Spread:
    """The spread of one mean over clusters: its variance times their design effect; unknown for a single cluster."""
    count = len(np.unique(np.asarray(clusters)))
    if count == len(influence):
        return spread
    effect = float(influence_effects(influence, clusters)[0])
    return replace(
        spread,
        variances=spread.variances * effect if count > 1 else np.full(1, _UNKNOWN),
        freedom=np.minimum(spread.freedom, max(count - 1.0, 1.0)),
        plain_size=spread.plain_size / effect,
    )


def bounded_mean(
    values: ArrayLike, clusters: ArrayLike | None = None, *, largest: float, confidence: float = 0.95
) -> Estimate:
    """The mean of ``values`` (n,) between 0 and ``largest``.

    From `MANY` values on, the interval is that of Clopper and Pearson at the sample size that the variance is worth.
    Fewer values may all be small by chance where the mean rests on rare large ones, and their variance does not show
    it. For them the interval is the hedged betting interval of Waudby-Smith and Ramdas (2024), which covers for every
    distribution and is wider. It takes the values in an order that parts neighbors, as test sets are often sorted. With
    ``clusters`` (n,), it is widened to contain the interval of Korn and Graubard over clusters; few clusters may lack
    rare ones with large values, so that half of a cluster of 0 counts for its lower bound and one of ``largest`` for
    its upper bound, where that gives more.

    >>> print(bounded_mean(np.repeat([0.0, 1.0], 2000), largest=2.0).method)
    bounded exact 95%
    """
    shares = np.asarray(values, dtype=np.float64) / largest
    if shares.ndim != 1:
        raise InputError(f"a mean needs values (n,), got {shares.shape}")
    if not len(shares):
        raise UndefinedError("a mean of no values has no value")
    if not (shares.min() >= 0 and shares.max() <= 1):  # not a number fails both
        raise InputError(f"values must be between 0 and {largest:g}")
    estimate = _by_variance(shares, confidence) if len(shares) >= MANY else _by_betting(shares, confidence)
    if clusters is not None:
        estimate = _over_clusters_too(estimate, shares, np.asarray(clusters), confidence)
    value, low, high = (largest * share for share in (estimate.value, estimate.low, estimate.high))
    return Estimate(value, low, high, estimate.n, estimate.method)


def _over_clusters_too(estimate: Estimate, shares: FloatArray, clusters: IntArray, confidence: float) -> Estimate:
    method = method_name("clustered bounded", confidence)
    if len(np.unique(clusters)) < 2:  # a single cluster says nothing of others
        return replace(estimate, low=0.0, high=1.0, method=method)
    spread = _clustered(shares, clusters)
    sizes = np.unique(clusters, return_counts=True)[1]
    over, with_low, with_high = (
        korn_graubard(each, "", confidence)[0]
        for each in (spread, *(_with_part_of_a_cluster(spread, sizes, value) for value in (0.0, 1.0)))
    )
    low, high = min(estimate.low, over.low, with_low.low), max(estimate.high, over.high, with_high.high)
    return replace(estimate, low=low, high=high, method=method)


def _with_part_of_a_cluster(spread: Spread, sizes: IntArray, value: float) -> Spread:
    """The spread with the design effect of the clusters and of a part of another one of mean size at a ``value``."""
    mean, size = spread.means, float(sizes @ sizes / sizes.sum())
    independent = spread.n * mean * (1 - mean)
    added = _PART * size * (value - mean) ** 2
    effect = (spread.n**2 * spread.variances + size * added) / np.maximum(independent + added, np.finfo(float).tiny)
    return replace(spread, variances=effect * independent / spread.n**2)


def _by_variance(shares: FloatArray, confidence: float) -> Estimate:
    n = len(shares)
    variance = shares.var(ddof=1) / n if np.ptp(shares) > _EQUAL else 0.0  # equal values vary by rounding alone
    spread = Spread(np.array([shares.mean()]), np.array([variance]), np.array([n - 1.0]), float(n), n)
    return korn_graubard(spread, "bounded exact", confidence)[0]


def _by_betting(shares: FloatArray, confidence: float) -> Estimate:
    """The means against which no bettor would have gained so much that it is rarer than the level."""
    shuffled = shares[np.argsort(np.arange(len(shares)) * _GOLDEN % 1)]
    level = 2 * tail_share(confidence)
    bets = _bets(shuffled, level)
    limit = np.log(2 / level)  # half of the capital bets on a larger mean, half on a smaller one
    mean = float(shares.mean())
    low = _search(lambda m: _gain(shuffled - m, bets, m) <= limit, rejected=0.0, kept=mean)
    high = _search(lambda m: _gain(m - shuffled, bets, 1 - m) <= limit, rejected=1.0, kept=mean)
    return Estimate(mean, min(low, mean), max(high, mean), len(shares), method_name("hedged betting", confidence))


def _bets(shuffled: FloatArray, level: float) -> FloatArray:
    """Shape (n,): how much to bet on each value, from the mean and the variance of those before it."""
    n = len(shuffled)
    counts = np.arange(1, n + 1)
    means = (0.5 + np.cumsum(shuffled)) / (counts + 1)
    variances = (0.25 + np.cumsum((shuffled - means) ** 2)) / (counts + 1)
    before = np.concatenate([[0.25], variances[:-1]])
    return np.sqrt(2 * np.log(2 / level) / (n * before))


def _gain(distances: FloatArray, bets: FloatArray, room: float) -> float:
    """The log of what bets on positive distances make of a capital of 1; ``room`` is how far a distance may go down."""
    boldest = _BOLDEST / room if room > 0 else np.inf
    return float(np.log1p(np.minimum(bets, boldest) * distances).sum())


def _search(is_kept: Callable[[float], bool], *, rejected: float, kept: float) -> float:
    """The mean nearest to ``rejected`` that is kept, to within rounding."""
    if is_kept(rejected):
        return rejected
    for _ in range(_STEPS):
        middle = (rejected + kept) / 2
        rejected, kept = (rejected, middle) if is_kept(middle) else (middle, kept)
    return kept


def absolute_mean(
    means: ArrayLike, variances: ArrayLike, sizes: ArrayLike, *, largest: float = np.inf, confidence: float = 0.95
) -> Estimate:
    """The mean over images of the absolute ``means`` (b,) of their bins, ``sizes`` (b,) images each.

    ``variances`` (b,) are those of the means. Noise makes absolute values larger: the value is too large on average,
    and the interval reaches further down than up. Its upper end is that of the mean with the true signs, which is never
    larger than the value and has normal noise. Its lower end allows for the mean size of the noise, by which the value
    may be too large at most; its distribution is taken as a gamma with the same mean and variance.

    >>> print(absolute_mean([0.1, -0.05], [0.0001, 0.0001], [500, 500]))
    7.5 [5.7, 8.9]
    """
    gaps, noise, counts = (np.asarray(numbers, dtype=np.float64) for numbers in (means, variances, sizes))
    if not gaps.shape == noise.shape == counts.shape or gaps.ndim != 1:
        raise InputError(f"means {gaps.shape}, variances {noise.shape} and sizes {counts.shape} must all be (b,)")
    if not counts.sum() > 0:
        raise UndefinedError("a mean over no images has no value")
    weighted = counts / counts.sum() * np.sqrt(noise)
    value = float(counts @ np.abs(gaps) / counts.sum())
    up = normal_quantile(confidence) * float(np.sqrt(weighted @ weighted))
    down = _largest_noise(float(weighted.sum()), float(weighted @ weighted), confidence)
    method = method_name("absolute mean, gamma and normal", confidence)
    return Estimate(value, max(value - down, 0.0), min(value + up, largest), int(counts.sum()), method)


def _largest_noise(total: float, squares: float, confidence: float) -> float:
    """The quantile of a sum of absolute normal numbers whose deviations add up to ``total``, squared to ``squares``."""
    if total <= 0:
        return 0.0
    mean, variance = _HALF_NORMAL_MEAN * total, (1 - 2 / np.pi) * squares
    shape = mean**2 / variance
    return float(scipy.special.gammaincinv(shape, 1 - tail_share(confidence)) * variance / mean)
