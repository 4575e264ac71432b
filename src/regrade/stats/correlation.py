"""Correlations with intervals: Pearson, Spearman, Kendall, and that of a score with the shares of its bins."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache, partial

import numpy as np
import scipy
from numpy.polynomial import Chebyshev
from numpy.typing import ArrayLike

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.influence import independent_size
from regrade.stats.intervals import Intervals, method_name, normal_quantile, tail_share

_MIN_PAIRS = 4  # fewest pairs for an interval
_PEARSON, _SPEARMAN, _KENDALL = "pearson, fisher z", "spearman, normal pairs", "kendall tau-b, normal pairs"
_DRAWS = 1_000
_BANDWIDTH = 5.0  # standard deviation, in bins, of the normal kernel that smooths the shares
_PRIOR_IMAGES = 20  # weight, in images, of the smoothed share in each bin
_MIN_BINS = 4  # fewest non-empty bins for an interval
_GRID = 256  # ranks on each side of a joint distribution function
_ROUNDING = 1e-9  # of a number of pairs
_PERFECT = 1 - 1e-12  # Fisher's z is infinite beyond this
# Correlations sin(angle) from -1 to 1, denser towards the ends, where the coefficients vary least.
_ANGLES = np.pi / 2 * np.r_[-1.0, np.tanh(np.linspace(-9, 9, 1801)), 1.0]
_DEGREE = 40  # of the polynomials in the angle, for ten digits
_MIN_STEP = 1e-7  # its square is the rounding error of a variance of 0
_CROSS = ((0, 1), (0, 3), (2, 1), (2, 3))  # index pairs of an x and a y among the differences x, y, x, y


def pearson(x: ArrayLike, y: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    """Return Pearson's r of two samples (n,), with Fisher's interval; n >= 4, neither sample constant.

    The interval of a perfect correlation has width 0.
    """
    a, b = checked_samples(x, y)
    value = _clipped(np.corrcoef(a, b)[0, 1])
    return _estimate(value, _fisher(value, len(a), confidence), len(a), _PEARSON, confidence)


def spearman(x: ArrayLike, y: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    """Return Spearman's rho of two samples (n,), ties at mean rank, with a score interval for normal pairs; n >= 4.

    The interval inverts a test based on a beta distribution with the exact mean and variance for normal pairs (after
    any monotone transformation). Its coverage is nominal, and higher for few, closely agreeing pairs, because rho is
    discrete there. The interval of a perfect order has a positive width.
    """
    from scipy import stats  # slow to import

    a, b = checked_samples(x, y)
    value = _clipped(np.corrcoef(stats.rankdata(a), stats.rankdata(b))[0, 1])
    return _estimate(value, _score(value, spearman_moments, len(a), confidence), len(a), _SPEARMAN, confidence)


def kendall(x: ArrayLike, y: ArrayLike, clusters: ArrayLike | None = None, *, confidence: float = 0.95) -> Estimate:
    """Return Kendall's tau-b of two samples (n,) in O(n log n), with a score interval for normal pairs; n >= 4.

    The interval is constructed as in `spearman`. Many ties make it too short: with five levels in either sample its
    coverage is about 0.90 instead of 0.95. Pairs of one of the ``clusters`` (n,) are dependent: the interval is that of
    as many independent pairs as they are worth to tau, or [-1, 1] below 4.
    """
    from scipy import stats  # slow to import

    a, b = checked_samples(x, y)
    value = _clipped(stats.kendalltau(a, b).statistic)
    if clusters is None:
        return _estimate(value, _score(value, kendall_moments, len(a), confidence), len(a), _KENDALL, confidence)
    worth = int(independent_size(_tau_influence(a, b), clusters, upper=1 - tail_share(confidence)) + _ROUNDING)
    bounds = Intervals(np.array(-1.0), np.array(1.0))
    if worth >= _MIN_PAIRS:
        bounds = _score(value, kendall_moments, worth, confidence)
    return _estimate(value, bounds, len(a), f"clustered {_KENDALL}", confidence)


def _tau_influence(x: FloatArray, y: FloatArray) -> FloatArray:
    """Shape (n,): how much more often than on average each pair is in the order of the others.

    Their joint distribution function is taken on a grid of ranks, exactly for few pairs.
    """
    n = len(x)
    cells = min(n, _GRID)
    first, second = (np.argsort(np.argsort(part, kind="stable")) * cells // n for part in (x, y))
    counts = np.bincount(first * cells + second, minlength=cells**2).reshape(cells, cells)
    below = np.pad(counts, ((1, 0), (1, 0))).cumsum(axis=0).cumsum(axis=1)
    joint = (below[1:, 1:] + below[1:, :-1] + below[:-1, 1:] + below[:-1, :-1]) / 4
    in_order = 4 * joint[first, second] / n - 2 * ((first + 0.5) + (second + 0.5)) / cells + 1
    influence: FloatArray = in_order - in_order.mean()
    return influence


@dataclass(frozen=True)
class Correlations:
    """Correlations (m, m) between all rows with intervals; 1 on the diagonal."""

    value: FloatArray
    low: FloatArray
    high: FloatArray
    n: int
    method: str


def pearson_matrix(rows: ArrayLike, *, confidence: float = 0.95) -> Correlations:
    """Return Pearson's r between all m rows of (m, n), with Fisher's intervals; see `pearson`."""
    values = _rows(rows)
    n = values.shape[1]
    value = _clipped(np.atleast_2d(np.corrcoef(values)))
    return _matrix(value, _fisher(value, n, confidence), n, _PEARSON, confidence)


def spearman_matrix(rows: ArrayLike, *, confidence: float = 0.95) -> Correlations:
    """Return Spearman's rho between all m rows of (m, n), with score intervals; see `spearman`."""
    from scipy import stats  # slow to import

    ranks = stats.rankdata(_rows(rows), axis=1)
    n = ranks.shape[1]
    value = _clipped(np.atleast_2d(np.corrcoef(ranks)))
    return _matrix(value, _score(value, spearman_moments, n, confidence), n, _SPEARMAN, confidence)


def kendall_matrix(rows: ArrayLike, *, confidence: float = 0.95) -> Correlations:
    """Return Kendall's tau-b between all m rows of (m, n), each in O(n log n), with score intervals; see `kendall`."""
    from scipy import stats  # slow to import

    values = _rows(rows)
    models, n = values.shape
    value = np.eye(models)
    for i, j in zip(*np.triu_indices(models, k=1), strict=True):
        value[i, j] = value[j, i] = _clipped(stats.kendalltau(values[i], values[j]).statistic)
    return _matrix(value, _score(value, kendall_moments, n, confidence), n, _KENDALL, confidence)


def _rows(rows: ArrayLike) -> FloatArray:
    values = np.asarray(rows, dtype=np.float64)
    if values.ndim != 2:
        raise InputError(f"correlations between rows need an array (rows, n), got shape {values.shape}")
    for row in values:
        checked_samples(row, row)
    return values


def checked_samples(x: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the samples as float arrays; raise if their correlation has no value or no interval."""
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise InputError(f"a correlation needs two samples of shape (n,), got {a.shape} and {b.shape}")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise InputError("a correlation needs finite numbers")
    if len(a) < _MIN_PAIRS:
        raise UndefinedError(f"an interval for a correlation needs at least {_MIN_PAIRS} pairs, got {len(a)}")
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        raise UndefinedError("a correlation with a constant sample has no value")
    return a, b


def _clipped(value: ArrayLike) -> FloatArray:
    """Clip rounding errors beyond a perfect correlation."""
    return np.clip(np.asarray(value, dtype=np.float64), -1.0, 1.0)


def _fisher(value: FloatArray, n: int, confidence: float) -> Intervals:
    half_width = normal_quantile(confidence) / np.sqrt(n - 3)
    with np.errstate(divide="ignore"):
        center = np.arctanh(value)
    return Intervals(np.tanh(center - half_width), np.tanh(center + half_width))


def _score(value: FloatArray, moments: Callable[[int], RankMoments], n: int, confidence: float) -> Intervals:
    """The true values that are compatible with ``value``; the upper bound is the lower one of the negated value."""
    truth, highest = _highest_allowed(moments, n, confidence)

    def least(values: FloatArray) -> FloatArray:
        return np.minimum(np.interp(values, highest, truth), values)

    return Intervals(least(value), -least(-value))


@lru_cache(maxsize=64)
def _highest_allowed(moments: Callable[[int], RankMoments], n: int, confidence: float) -> tuple[FloatArray, FloatArray]:
    """True values from -1 to 1, and the highest sample value compatible with each.

    Sample values are discrete: each is spread over the step around it to fit a beta distribution, and is compatible
    if any part of the step is.
    """
    moment = moments(n)
    half = moment.step / 2
    width = 2 + 2 * half
    share, variance = (moment.mean + 1 + half) / width, (moment.variance + half**2 / 3) / width**2
    size = share * (1 - share) / variance - 1
    upper = scipy.special.betaincinv(share * size, (1 - share) * size, 1 - tail_share(confidence))
    return moment.truth, np.maximum.accumulate(width * upper - 1)


def _estimate(value: FloatArray, bounds: Intervals, n: int, method: str, confidence: float) -> Estimate:
    return Estimate(float(value), float(bounds.low), float(bounds.high), n, method_name(method, confidence))


def _matrix(value: FloatArray, bounds: Intervals, n: int, method: str, confidence: float) -> Correlations:
    for part in (value, bounds.low, bounds.high):
        np.fill_diagonal(part, 1.0)
    return Correlations(value, bounds.low, bounds.high, n, method_name(method, confidence))


def robust_pearson(
    x: ArrayLike, y: ArrayLike, clusters: ArrayLike | None = None, *, confidence: float = 0.95
) -> Estimate:
    """Return Pearson's r of two samples (n,) of any distribution; for a 0/1 sample, the point-biserial correlation.

    The interval is symmetric on Fisher's scale, with a width estimated from the sample (delta method) instead of a
    normal distribution; n >= 4, neither sample constant. The interval of a perfect correlation is that of a perfect
    order (`spearman`). At 95% its coverage is 0.94 to 0.95 with 100 images, and less with fewer images and rare
    mistakes. Pairs of one of the ``clusters`` (n,) are dependent: the width is that of as many independent pairs as
    they are worth; below 4 the interval is [-1, 1].
    """
    a, b = checked_samples(x, y)
    n = len(a)
    u, v = ((sample - sample.mean()) / sample.std() for sample in (a, b))
    value = float(np.clip((u * v).mean(), -1.0, 1.0))
    influence = u * v - value * (u**2 + v**2) / 2
    kind = "pearson, delta" if clusters is None else "clustered pearson, delta"
    worth = independent_size(influence, clusters, upper=1 - tail_share(confidence))
    if worth < _MIN_PAIRS:
        return Estimate(value, -1.0, 1.0, n, method_name(kind, confidence))
    if abs(value) >= _PERFECT:
        perfect = np.sign(value)
        bounds = _score(perfect, spearman_moments, int(worth + _ROUNDING), confidence)
        return _estimate(perfect, bounds, n, kind, confidence)
    error = np.sqrt((influence**2).mean() / (worth - 3)) / (1 - value**2)
    half_width = scipy.special.stdtrit(worth - 3, 1 - tail_share(confidence)) * error
    low, high = np.tanh(np.arctanh(value) + np.array([-half_width, half_width]))
    return Estimate(value, float(low), float(high), n, method_name(kind, confidence))


def binned_correlation(
    hits: ArrayLike,
    images: ArrayLike,
    middles: ArrayLike,
    *,
    rng: np.random.Generator,
    effect: float | None = None,
    confidence: float = 0.95,
    draws: int = _DRAWS,
) -> Estimate:
    """Return Pearson's r between ``middles`` (b,) and the shares ``hits`` / ``images`` (b,), one point per bin.

    Empty bins are ignored; at least 4 must remain, and neither middles nor shares may be constant. Noise in sparse
    bins attenuates r, so r depends on the number of images; the interval is for its mean over samples of that size. It
    is a bootstrap of images, with the shares of sparse bins smoothed over their neighbors and the draws centered on r
    on Fisher's scale. In simulations its coverage is 0.93 to 0.99. If images come in clusters, ``effect`` is the design
    effect of the hits within bins: the bootstrap draws as many independent images as they are worth.
    """
    wrong, sizes, x = (np.asarray(values) for values in (hits, images, middles))
    if not wrong.shape == sizes.shape == x.shape or wrong.ndim != 1:
        raise InputError(f"hits, images and middles must all be (bins,), got {wrong.shape}, {sizes.shape}, {x.shape}")
    if (wrong < 0).any() or (wrong > sizes).any():
        raise InputError("hits must lie between 0 and the images of their bin")
    if (bins := int((sizes > 0).sum())) < _MIN_BINS:
        raise UndefinedError(f"a correlation over bins needs at least {_MIN_BINS} non-empty bins, got {bins}")
    value = float(_correlations(wrong, sizes, x))
    if np.isnan(value):
        raise UndefinedError("a correlation with a constant sample has no value")
    units, divisor = ("images", 1.0) if effect is None else ("clusters", effect)
    method = method_name(f"pearson over bins, bootstrap of {units}", confidence)
    worth = max(round(sizes.sum() / divisor), 1)
    drawn = rng.multinomial(worth, sizes / sizes.sum(), size=draws)
    correlations = _correlations(rng.binomial(drawn, _smoothed(wrong / divisor, sizes / divisor)), drawn, x)
    low, high = _around(value, correlations[np.isfinite(correlations)], tail_share(confidence))
    return Estimate(value, low, high, bins, method)


def _around(value: float, drawn: FloatArray, tail: float) -> tuple[float, float]:
    """Interval around r from the draws on Fisher's scale; for |r| = 1, percentiles of the draws themselves."""
    if abs(value) > _PERFECT:
        low, high = np.quantile(drawn, [tail, 1 - tail])
        return min(float(low), value), max(float(high), value)
    scaled = np.arctanh(np.clip(drawn, -_PERFECT, _PERFECT))
    low, high = np.arctanh(value) - _inflation(value) * np.quantile(scaled - scaled.mean(), [1 - tail, tail])
    return float(np.tanh(low)), float(np.tanh(high))


def _inflation(value: float) -> float:
    """Ratio of the standard deviation of r over new samples to that over draws.

    Draws add noise to shares that already contain the sample's noise. Near r = 0 this leaves a draw half of the
    variance. Near 1, where r depends on the sum of squared residuals, the variance of each term relative to its
    squared mean is 6/4 in a draw and 2 in a sample.
    """
    return float(np.sqrt(2 - 2 / 3 * value**2))


def _correlations(hits: IntArray, sizes: IntArray, x: FloatArray) -> FloatArray:
    """Shape (...): r over the last axis without empty bins; NaN where undefined."""
    occupied = sizes > 0
    count = np.maximum(occupied.sum(axis=-1, keepdims=True), 1)
    shares = np.where(occupied, hits / np.maximum(sizes, 1), 0.0)
    across = np.where(occupied, x, 0.0)
    dx = np.where(occupied, across - across.sum(axis=-1, keepdims=True) / count, 0.0)
    dy = np.where(occupied, shares - shares.sum(axis=-1, keepdims=True) / count, 0.0)
    spread = np.sqrt((dx**2).sum(axis=-1) * (dy**2).sum(axis=-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.clip(np.where(spread > 1e-15, (dx * dy).sum(axis=-1) / spread, np.nan), -1.0, 1.0)


def _smoothed(hits: FloatArray, sizes: FloatArray) -> FloatArray:
    """Shape (b,): shares shrunk towards their neighbors, sparse bins most; none is exactly 0 or 1."""
    places = np.arange(len(sizes))
    kernel = np.exp(-0.5 * ((places[:, None] - places) / _BANDWIDTH) ** 2)
    around = (kernel @ hits + 0.05) / (kernel @ sizes + 0.1)
    return (hits + _PRIOR_IMAGES * around) / (sizes + _PRIOR_IMAGES)


@dataclass(frozen=True)
class RankMoments:
    """Mean and variance of a rank correlation of n normal pairs, for true values from -1 to 1.

    Ranks are invariant under monotone transformations, so the moments hold for all pairs that are normal after one.
    ``step`` is the distance between possible values: the change from swapping two neighbors.
    """

    truth: FloatArray
    mean: FloatArray
    variance: FloatArray
    step: float


def kendall_moments(n: int) -> RankMoments:
    """Return the moments of Kendall's tau (Esscher 1924)."""
    tau, half = 2 / np.pi * _ANGLES, 2 / np.pi * np.arcsin(np.sin(_ANGLES) / 2)
    variance = 2 / (n * (n - 1)) * (1 - tau**2 + 2 * (n - 2) * (1 / 9 - half**2))
    return RankMoments(tau, tau, np.maximum(variance, 0), 4 / (n * (n - 1)))


def spearman_moments(n: int) -> RankMoments:
    """Return the moments of Spearman's rho (Moran 1948; for the variance see David and Mallows 1961)."""
    tau, rho = 2 / np.pi * _ANGLES, 6 / np.pi * np.arcsin(np.sin(_ANGLES) / 2)
    mean = (3 * tau + (n - 2) * rho) / (n + 1)
    squares = sum(math.perm(n, pairs) * expected for pairs, expected in _summed_products())
    variance = 9 / (n**3 - n) ** 2 * squares - mean**2
    return RankMoments(rho, mean, np.maximum(variance, 0), max(12 / (n**3 - n), _MIN_STEP))


@cache
def _summed_products() -> list[tuple[int, FloatArray]]:
    """The expected square of Spearman's rho, split by the number of distinct pairs involved.

    Rho is 3 / (n^3 - n) times the sum, over all i, j and k, of sign(x_i - x_j) sign(y_i - y_k). Its square is a sum of
    products of four signs, whose expectation depends only on which of the six indices are equal.
    """
    parts = []
    for pairs in range(2, 7):
        patterns = np.array([differences for size, differences in _patterns() if size == pairs])
        at_zero = (2 / np.pi) ** 2 * (np.arcsin(patterns[:, 0, 2]) * np.arcsin(patterns[:, 1, 3])).sum()
        free = patterns[(np.abs(patterns[:, 0, 2]) < 1) & (np.abs(patterns[:, 1, 3]) < 1)]
        slope = Chebyshev.interpolate(partial(_slopes, free), _DEGREE, [-np.pi / 2, np.pi / 2])
        parts.append((pairs, at_zero + slope.integ(lbnd=0)(_ANGLES)))
    return parts


def _patterns() -> Iterator[tuple[int, FloatArray]]:
    """Patterns of equality among two index triples i, j, k: the number of distinct indices, and correlations (4, 4).

    The correlations are between the differences in x, y, x and y for y = x.
    """
    for places in itertools.product(*(range(earlier + 1) for earlier in range(6))):
        pairs = max(places) + 1
        first, second = places[:3], places[3:]
        in_order = all(place <= max(places[:at]) + 1 for at, place in enumerate(places) if at)
        if in_order and all(i not in (j, k) for i, j, k in (first, second)):
            unit = np.eye(pairs)
            differences = np.array([unit[i] - unit[j] for i, *rest in (first, second) for j in rest])
            yield pairs, differences @ differences.T / 2


def _slopes(patterns: FloatArray, angles: FloatArray) -> FloatArray:
    """Shape (angles,): derivatives by the angle of the expected products of four signs, summed over patterns (p, 4, 4).

    By Plackett's identity (1954) each correlation contributes its derivative, times the density of its two differences
    at 0, times the expected product of the two remaining signs given these.
    """
    correlations = np.repeat(patterns[:, None], len(angles), axis=1)
    for x, y in _CROSS:
        correlations[..., x, y] *= np.sin(angles)
        correlations[..., y, x] *= np.sin(angles)
    inverse = np.linalg.inv(correlations)
    total = np.zeros(len(angles))
    for x, y in _CROSS:
        u, v = 2 - x, 4 - y
        conditional = -inverse[..., u, v] / np.sqrt(inverse[..., u, u] * inverse[..., v, v])
        growth = patterns[:, None, x, y] * np.cos(angles) / np.sqrt(1 - correlations[..., x, y] ** 2)
        total += (growth * np.arcsin(np.clip(conditional, -1, 1))).sum(axis=0)
    return (2 / np.pi) ** 2 * total
