"""Paired comparison of models on the same images: McNemar's tests, intervals for differences, equivalence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from regrade.core.arrays import BoolArray, FloatArray, IntArray, joint_counts
from regrade.core.cores import elementwise
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import Intervals, as_counts, method_name, normal_quantile

_BDTR_TRIALS = 2**31 - 1  # `scipy.special.bdtr` is NaN for more
_BLOCK = 1 << 18  # pairs processed at a time; there may be millions
WIDEST = 0.2
"""Largest supported equivalence margin."""


@dataclass(frozen=True)
class McNemar:
    """All variants of McNemar's test; all fields have the shape of the counts.

    ``only_first`` images are right for the first model only, ``only_second`` for the second only. ``exact``, ``mid_p``,
    ``chi_square`` and ``corrected`` are two-sided p-values; the last two come with their statistics, without and with
    the continuity correction. Prefer ``mid_p``; papers often report ``corrected``.
    """

    only_first: IntArray | FloatArray
    only_second: IntArray | FloatArray
    exact: FloatArray
    mid_p: FloatArray
    chi_square: FloatArray
    corrected: FloatArray
    chi_square_statistic: FloatArray
    corrected_statistic: FloatArray


def mcnemar(only_first: ArrayLike, only_second: ArrayLike) -> McNemar:
    """Return McNemar's tests from counts of discordant images, of any shapes that broadcast.

    Without discordant images every p-value is 1.

    >>> test = mcnemar(38, 21)  # Shankar et al. 2020: best labeler against best model
    >>> round(float(test.corrected), 4), round(float(test.exact), 4)
    (0.0372, 0.0363)
    """
    b, c = as_counts(only_first, only_second)
    if (b < 0).any() or (c < 0).any():
        raise InputError("counts of discordant images cannot be negative")
    return mcnemar_tests(b, c)


def mcnemar_tests(b: IntArray | FloatArray, c: IntArray | FloatArray) -> McNemar:
    """Return `mcnemar` without validation, for counts that need not be integers (effective counts)."""
    total, less = b + c, np.minimum(b, c)
    lower_tail = half_binomial_cdf(less, total)
    exact = _two_sided(lower_tail, total)
    point = np.exp(_log_half_binomial(less, total))
    mid_p = np.where(b == c, 1.0, 2 * lower_tail - point)
    plain = np.abs(b - c).astype(np.float64)
    statistic = _over_total(plain, total)
    corrected_statistic = _over_total(np.maximum(plain - 1, 0), total)
    return McNemar(
        b, c, exact, mid_p, _chi_square_tail(statistic), _chi_square_tail(corrected_statistic), statistic,
        corrected_statistic,
    )  # fmt: skip


def mcnemar_exact(only_first: IntArray | FloatArray, only_second: IntArray | FloatArray) -> FloatArray:
    """Shape (p,): p-values of the exact test only, in little memory for millions of pairs (p,).

    Effective counts, which need not be integers, are taken as they are.
    """
    exact = np.empty(len(only_first))
    for start in range(0, len(exact), _BLOCK):
        block = slice(start, start + _BLOCK)
        b, c = (_wide(counts[block]) for counts in (only_first, only_second))
        exact[block] = _two_sided(half_binomial_cdf(np.minimum(b, c), b + c), b + c)
    return exact


def _wide(counts: IntArray | FloatArray) -> IntArray | FloatArray:
    return counts if counts.dtype.kind == "f" else counts.astype(np.int64)


def discordant_counts(correct: BoolArray) -> IntArray:
    """Shape (m, m): the number of images that model i has right and model j wrong, from ``correct`` (m, n)."""
    both = joint_counts(correct)
    return np.diagonal(both)[:, None] - both


@dataclass(frozen=True)
class PairTests:
    """McNemar's tests of all pairs of m models, with indices ``first`` < ``second`` and one entry per pair."""

    first: IntArray
    second: IntArray
    test: McNemar


def mcnemar_all_pairs(correct: BoolArray) -> PairTests:
    """Return McNemar's tests for all m (m - 1) / 2 pairs of models, from ``correct`` (m, n)."""
    counts = discordant_counts(correct)
    first, second = np.triu_indices(len(counts), k=1)
    return PairTests(first, second, mcnemar(counts[first, second], counts[second, first]))


def paired_difference(
    only_first: ArrayLike, only_second: ArrayLike, images: ArrayLike, *, confidence: float = 0.95
) -> Intervals:
    """Return score intervals for the difference of two accuracies on the same images (Tango 1998).

    The difference is (only_first - only_second) / images. The interval excludes 0 exactly if McNemar's chi-square test
    without correction is significant at the same level.
    """
    return score_bounds(*check_discordant(only_first, only_second, images), confidence=confidence)


def score_bounds(b: FloatArray, c: FloatArray, n: FloatArray, *, confidence: float) -> Intervals:
    """Return `paired_difference` without validation, for counts that need not be integers (effective counts)."""
    z = normal_quantile(confidence)
    value = (b - c) / n  # the bisection may miss it by rounding
    return Intervals(np.minimum(_score_root(b, c, n, z), value), np.maximum(_score_root(b, c, n, -z), value))


def corrected_difference(
    only_first: ArrayLike, only_second: ArrayLike, images: ArrayLike, *, confidence: float = 0.95
) -> Intervals:
    """Return the interval of `paired_difference` with a continuity correction of one image, for one-sided claims.

    Each bound errs with at most half of 1 - confidence, also for few discordant images and small levels, where the
    uncorrected bounds err up to twice as often: over 20 to 700 images and differences up to 5 points, at most 0.9 times
    the level for the bound on the side of 0, and at most 1.1 times (down to a level of 0.5 %) for the other.

    >>> interval = corrected_difference(0, 0, 1000, confidence=0.9)
    >>> round(float(interval.low), 4), round(float(interval.high), 4)
    (-0.0045, 0.0045)
    """
    return corrected_score_bounds(*check_discordant(only_first, only_second, images), confidence=confidence)


def corrected_score_bounds(b: FloatArray, c: FloatArray, n: FloatArray, *, confidence: float) -> Intervals:
    """Return `corrected_difference` without validation, for counts that need not be integers (effective counts)."""
    z = normal_quantile(confidence)
    value = (b - c) / n
    low, high = _corrected_bound(b, c, n, z), -_corrected_bound(c, b, n, z)
    return Intervals(np.minimum(low, value), np.maximum(high, value))


def _corrected_bound(b: FloatArray, c: FloatArray, n: FloatArray, z: float) -> FloatArray:
    """The lower bound of b - c over n: the largest difference that is rejected, by bisection."""
    low, high = np.full(b.shape, -1.0), (b - c) / n
    for _ in range(52):
        middle = (low + high) / 2
        variance = score_variance(middle, b, c, n)
        rejected = b - c - n * middle - 1 > z * np.sqrt(variance)
        low, high = np.where(rejected, middle, low), np.where(rejected, high, middle)
    return low


def check_discordant(
    only_first: ArrayLike, only_second: ArrayLike, images: ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the counts of discordant images and of all images, validated and broadcast."""
    b, c, n = (count.astype(np.float64) for count in as_counts(only_first, only_second, images))
    if (n <= 0).any():
        raise UndefinedError("a difference needs at least one image, got 0")
    if (b < 0).any() or (c < 0).any() or (b + c > n).any():
        raise InputError("counts of discordant images must be at least 0 and sum to at most the number of images")
    return b, c, n


def exclusive_difference(gained: Estimate, lost: Estimate, *, confidence: float = 0.95) -> Estimate:
    """Return the difference of two mutually exclusive shares of the same images, from their intervals.

    ``gained`` is the share that is right only by the first of two criteria, ``lost`` the share that is right only by
    the second, both at the same confidence. The intervals are combined by MOVER (Zou and Donner 2008) with the negative
    correlation of exclusive events, so any interval works: over images, over classes, or from a partial review.

    >>> gained, lost = Estimate(0.05, 0.04, 0.06, 1000, ""), Estimate(0.01, 0.005, 0.02, 1000, "")
    >>> print(exclusive_difference(gained, lost))
    4.0 [2.6, 5.1]
    """
    value = gained.value - lost.value
    joint = (gained.value * lost.value, (1 - gained.value) * (1 - lost.value))
    correlation = np.sqrt(joint[0] / joint[1]) if joint[1] > 0 else 1.0
    below = _added(gained.value - gained.low, lost.high - lost.value, correlation)
    above = _added(gained.high - gained.value, lost.value - lost.low, correlation)
    low, high = max(value - below, -1.0), min(value + above, 1.0)
    return Estimate(value, low, high, min(gained.n, lost.n), method_name("paired MOVER", confidence))


def _added(first: float, second: float, correlation: float) -> float:
    return float(np.sqrt(first**2 + second**2 + 2 * min(correlation, 1.0) * first * second))


def half_binomial_cdf(wins: IntArray | FloatArray, total: IntArray | FloatArray) -> FloatArray:
    """Return the CDF of the binomial distribution with p = 0.5, to about ten digits (six for a billion trials).

    Effective counts, which need not be integers, are interpolated by the incomplete beta function.
    """
    if total.dtype.kind == "f":
        rest = np.where(wins < total, total - wins, 1.0)
        return np.where(wins < total, scipy.special.betaincc(wins + 1.0, rest, 0.5), 1.0)
    # ten times as fast as the incomplete beta function, which would be exact to the last digit
    if total.size and total.max() > _BDTR_TRIALS:
        return np.where(wins < total, scipy.special.betaincc(wins + 1.0, np.maximum(total - wins, 1), 0.5), 1.0)
    return elementwise(scipy.special.bdtr, wins.astype(np.float64), total, 0.5)


def _two_sided(lower_tail: FloatArray, total: IntArray | FloatArray) -> FloatArray:
    return np.where(total == 0, 1.0, np.minimum(2 * lower_tail, 1.0))


def _log_half_binomial(k: IntArray | FloatArray, n: IntArray | FloatArray) -> FloatArray:
    """Log of the binomial probability of k among n with p = 0.5."""
    return (
        scipy.special.gammaln(n + 1.0)
        - scipy.special.gammaln(k + 1.0)
        - scipy.special.gammaln(n - k + 1.0)
        - n * np.log(2)
    )


def _over_total(difference: FloatArray, total: IntArray | FloatArray) -> FloatArray:
    return difference**2 / np.maximum(total, 1)


def _chi_square_tail(statistic: FloatArray) -> FloatArray:
    """The upper tail of chi-square with one degree of freedom."""
    return scipy.special.erfc(np.sqrt(statistic / 2))


def _score_root(b: FloatArray, c: FloatArray, n: FloatArray, z: float) -> FloatArray:
    """The difference at which the decreasing score statistic equals z, by bisection."""
    low, high = np.full(b.shape, -1.0), np.full(b.shape, 1.0)
    for _ in range(52):
        middle = (low + high) / 2
        above = _score(middle, b, c, n) > z
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return (low + high) / 2


def _score(difference: FloatArray, b: FloatArray, c: FloatArray, n: FloatArray) -> FloatArray:
    """Tango's score statistic."""
    excess = b - c - n * difference
    with np.errstate(divide="ignore", invalid="ignore"):
        score = excess / np.sqrt(score_variance(difference, b, c, n))
    return np.where(excess == 0, 0.0, score)


def score_variance(difference: FloatArray | float, b: FloatArray, c: FloatArray, n: FloatArray) -> FloatArray:
    """Return the variance of b - c in Tango's statistic, at the constrained maximum-likelihood nuisance rate."""
    linear = -b - c + (2 * n - b + c) * difference
    constant = -c * difference * (1 - difference)
    nuisance = (np.sqrt(np.maximum(linear**2 - 8 * n * constant, 0)) - linear) / (4 * n)
    return np.maximum(n * (2 * nuisance + difference * (1 - difference)), 0)


def paired_equivalence(
    only_first: ArrayLike, only_second: ArrayLike, images: ArrayLike, *, margin: float
) -> FloatArray:
    """Return p-values for the claim that two accuracies on the same images differ by less than ``margin``.

    The larger p-value of two one-sided tests (Schuirmann 1987) with Tango's score statistic (1998), with a continuity
    correction of half an image. Over all outcomes for 1 to 2,000 images, the size of the test at 0.05 is at most 5.1 %
    for margins up to 20 points; a larger margin raises.

    >>> round(float(paired_equivalence(500, 490, 10_000, margin=0.01)), 4)
    0.0023
    """
    if not 0 < margin <= WIDEST:
        raise InputError(f"the equivalence margin must lie between 0 and 20 points, got {100 * margin:g}")
    return equivalence_p_values(*check_discordant(only_first, only_second, images), margin=margin)


def equivalence_p_values(b: FloatArray, c: FloatArray, n: FloatArray, *, margin: float) -> FloatArray:
    """Return `paired_equivalence` without validation, for counts that need not be integers (effective counts)."""
    above = _excess(b - c + n * margin, score_variance(-margin, b, c, n))
    below = _excess(n * margin - (b - c), score_variance(margin, b, c, n))
    return scipy.special.ndtr(-np.minimum(above, below))


def _excess(distance: FloatArray, variance: FloatArray) -> FloatArray:
    """Distance to the margin in standard errors, after the continuity correction."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(variance > 0, (distance - 0.5) / np.sqrt(variance), -np.inf)
