"""Paired comparison of models on the same images: McNemar's tests and the difference's interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.core.joint_counts import joint_counts
from regrade.stats.cores import elementwise
from regrade.stats.intervals import Intervals, method_name, normal_quantile, whole_numbers

_BLOCK = 1 << 18  # pairs at a time, where there may be millions


@dataclass(frozen=True)
class McNemar:
    """Every variant of McNemar's test; all fields have the shape of the counts.

    ``only_first`` images were right for the first alone, ``only_second`` for the second alone.
    ``exact``, ``mid_p``, ``chi_square`` and ``corrected`` are two-sided p-values; the last two come
    with their statistics, without and with the continuity correction. Prefer ``mid_p``; papers
    often print ``corrected``.
    """

    only_first: IntArray
    only_second: IntArray
    exact: FloatArray
    mid_p: FloatArray
    chi_square: FloatArray
    corrected: FloatArray
    chi_square_statistic: FloatArray
    corrected_statistic: FloatArray


def mcnemar(only_first: ArrayLike, only_second: ArrayLike) -> McNemar:
    """McNemar's tests from the counts of discordant images, of any shapes that broadcast.

    Without any discordant image every p-value is 1.

    >>> test = mcnemar(38, 21)  # Shankar et al. 2020: best labeler against best model
    >>> round(float(test.corrected), 4), round(float(test.exact), 4)
    (0.0372, 0.0363)
    """
    b, c = whole_numbers(only_first, only_second)
    if (b < 0).any() or (c < 0).any():
        raise InputError("counts of discordant images cannot be negative")
    total, less = b + c, np.minimum(b, c)
    lower_tail = at_most(less, total)
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


def mcnemar_exact(only_first: IntArray, only_second: IntArray) -> FloatArray:
    """Shape (p,): the exact test of `mcnemar` alone, for very many pairs (p,): little more memory than the result."""
    exact = np.empty(len(only_first))
    for start in range(0, len(exact), _BLOCK):
        block = slice(start, start + _BLOCK)
        b, c = (counts[block].astype(np.int64) for counts in (only_first, only_second))
        exact[block] = _two_sided(at_most(np.minimum(b, c), b + c), b + c)
    return exact


def discordant_counts(correct: BoolArray) -> IntArray:
    """Shape (m, m): how many images model i has right and model j wrong, from ``correct`` (m, n)."""
    both = joint_counts(correct)
    return np.diagonal(both)[:, None] - both


@dataclass(frozen=True)
class PairTests:
    """All pairs of m models: ``first`` < ``second`` index them, ``test`` holds one entry a pair."""

    first: IntArray
    second: IntArray
    test: McNemar


def mcnemar_all_pairs(correct: BoolArray) -> PairTests:
    """McNemar's tests for all m (m - 1) / 2 pairs of models at once, from ``correct`` (m, n)."""
    counts = discordant_counts(correct)
    first, second = np.triu_indices(len(counts), k=1)
    return PairTests(first, second, mcnemar(counts[first, second], counts[second, first]))


def paired_difference(
    only_first: ArrayLike, only_second: ArrayLike, images: ArrayLike, *, confidence: float = 0.95
) -> Intervals:
    """Score intervals for the difference of two accuracies on the same images (Tango 1998).

    The difference is (only_first - only_second) / images. The interval leaves out 0 exactly when
    McNemar's chi-square without correction is significant at the same level.
    """
    b, c, n = discordant_of(only_first, only_second, images)
    z = normal_quantile(confidence)
    value = (b - c) / n  # the bisection may miss it by a rounding
    return Intervals(np.minimum(_score_root(b, c, n, z), value), np.maximum(_score_root(b, c, n, -z), value))


def discordant_of(
    only_first: ArrayLike, only_second: ArrayLike, images: ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Counts of discordant images and of all images, checked and broadcast."""
    b, c, n = (count.astype(np.float64) for count in whole_numbers(only_first, only_second, images))
    if (n <= 0).any():
        raise UndefinedError("a difference over no images has no value")
    if (b < 0).any() or (c < 0).any() or (b + c > n).any():
        raise InputError("counts of discordant images must be at least 0, and together no more than the images")
    return b, c, n


def exclusive_difference(gained: Estimate, lost: Estimate, *, confidence: float = 0.95) -> Estimate:
    """The difference of two shares of the same images that exclude each other, from their own intervals.

    ``gained`` is the share that is right only by the first of two measures and ``lost`` the share that is right only by
    the second, both at the same confidence. The distances of their bounds are squared and added, with the negative
    correlation that excluding each other brings (MOVER: Zou and Donner 2008), so that any interval of a share will do:
    over images, over classes, or under a partial review.

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


def at_most(wins: IntArray, total: IntArray) -> FloatArray:
    """The chance of at most so many wins in fair tosses, to about ten digits (six for a billion)."""
    # ten times as fast as the incomplete beta function, which would be exact to the last digit
    return elementwise(special.bdtr, wins.astype(np.float64), total, 0.5)


def _two_sided(lower_tail: FloatArray, total: IntArray) -> FloatArray:
    return np.where(total == 0, 1.0, np.minimum(2 * lower_tail, 1.0))


def _log_half_binomial(k: IntArray, n: IntArray) -> FloatArray:
    """Log of the binomial probability of k among n at one half."""
    return special.gammaln(n + 1.0) - special.gammaln(k + 1.0) - special.gammaln(n - k + 1.0) - n * np.log(2)


def _over_total(difference: FloatArray, total: IntArray) -> FloatArray:
    return difference**2 / np.maximum(total, 1)


def _chi_square_tail(statistic: FloatArray) -> FloatArray:
    """The upper tail of chi-square with one degree of freedom."""
    return special.erfc(np.sqrt(statistic / 2))


def _score_root(b: FloatArray, c: FloatArray, n: FloatArray, z: float) -> FloatArray:
    """Where the score statistic, which falls as the difference grows, equals z: by bisection."""
    low, high = np.full(b.shape, -1.0), np.full(b.shape, 1.0)
    for _ in range(52):
        middle = (low + high) / 2
        above = _score(middle, b, c, n) > z
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return (low + high) / 2


def _score(difference: FloatArray, b: FloatArray, c: FloatArray, n: FloatArray) -> FloatArray:
    """Tango's statistic."""
    excess = b - c - n * difference
    with np.errstate(divide="ignore", invalid="ignore"):
        score = excess / np.sqrt(score_variance(difference, b, c, n))
    return np.where(excess == 0, 0.0, score)


def score_variance(difference: FloatArray | float, b: FloatArray, c: FloatArray, n: FloatArray) -> FloatArray:
    """The variance of b - c in Tango's statistic, the nuisance rate at its constrained maximum-likelihood value."""
    linear = -b - c + (2 * n - b + c) * difference
    constant = -c * difference * (1 - difference)
    nuisance = (np.sqrt(np.maximum(linear**2 - 8 * n * constant, 0)) - linear) / (4 * n)
    return np.maximum(n * (2 * nuisance + difference * (1 - difference)), 0)
