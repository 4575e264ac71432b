"""Numbers that were picked because they are the largest or the smallest of several.

The largest of several measured accuracies is too large on average, since a lucky error was picked with it. The
intervals and tests here hold although the data chose what they speak of.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import Intervals, clopper_pearson, method_name, whole_numbers
from regrade.stats.multiplicity import confidence_of_each, holm_threshold

_NEGLIGIBLE = 1e-14  # a term of a tail sum that changes nothing


def best_share(successes: ArrayLike, trials: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    """The largest of m shares (m,), with an interval for the true share of the one that was picked.

    The lower bound holds for all m together (Bonferroni, so whatever they have in common), and therefore for the
    one picked. The upper bound needs no correction where all have the same trials: the one picked measures at least as
    high as the one that is best in truth, whose bound holds. The interval also contains the largest true share then.

    >>> print(best_share([820, 800, 790], [1000, 1000, 1000]))
    82.0 [78.9, 84.3]
    """
    k, n = (np.atleast_1d(counts) for counts in whole_numbers(successes, trials))
    each = confidence_of_each(len(k), confidence)
    place = int(np.argmax(k / n))
    strict = clopper_pearson(k[place], n[place], confidence=each)
    plain = clopper_pearson(k[place], n[place], confidence=confidence if (n == n[0]).all() else each)
    name = method_name(f"clopper-pearson for the best of {len(k):,}" if len(k) > 1 else "clopper-pearson", confidence)
    return Estimate(float(k[place] / n[place]), float(strict.low), float(plain.high), int(n[place]), name)


def worst_share(successes: ArrayLike, trials: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    """The smallest of m shares (m,), as `best_share`."""
    k, n = whole_numbers(successes, trials)
    failures = best_share(n - k, n, confidence=confidence)
    return replace(
        failures,
        value=1 - failures.value,
        low=1 - failures.high,
        high=1 - failures.low,
        method=failures.method.replace("best", "worst"),
    )


def lower_share_p_values(successes: ArrayLike, trials: ArrayLike) -> FloatArray:
    """Shape (g, g): Fisher's exact one-sided p-values that share i is below share j, from counts (g,).

    The shares are of different images; where some are in both, the test is on the safe side. 1 where share i does not
    measure below share j.

    >>> lower_share_p_values([1, 5], [6, 6]).round(4).tolist()
    [[1.0, 0.04], [1.0, 1.0]]
    """
    k, n = (np.atleast_1d(counts) for counts in whole_numbers(successes, trials))
    if (n <= 0).any():
        raise UndefinedError("a share of nothing has no value: trials must be at least 1")
    p_values = np.ones((len(k), len(k)))
    i, j = np.nonzero(np.less.outer(k / n, k / n))
    p_values[i, j] = _hypergeometric_tail(k[i], n[i], k[j], n[j])
    return p_values


def below_others_p_values(values: ArrayLike, place: int) -> FloatArray:
    """Shape (g,): one-sided p-values that the mean of row ``place`` of ``values`` (g, n) is below that of each other.

    Paired t tests over the n images. Two images more, with the largest difference seen in either direction, keep few
    or equal images from passing for certainty (after Bonett and Price 2012). 1 for the row itself.
    """
    rows = np.asarray(values, dtype=np.float64)
    if rows.ndim != 2 or not rows.shape[1]:
        raise InputError(f"paired tests need values of shape (g, n) with images, got {rows.shape}")
    differences = rows - rows[place]
    images = rows.shape[1] + 2
    mean = differences.sum(axis=1) / images
    squares = (differences**2).sum(axis=1) + 2 * np.abs(differences).max(axis=1) ** 2
    error = np.sqrt(np.maximum(squares / images - mean**2, 0.0) / images)
    p_values = special.stdtr(max(images - 3, 1), -mean / np.where(error > 0, error, 1.0))
    return np.where(error > 0, p_values, 1.0)


def shown_below(p_values: FloatArray, *, level: float) -> BoolArray:
    """Shape (g,): which of g the lowest is shown to be below, from the p-values (g,) that it is below each.

    Each at ``level`` / g. Had the data picked a wrong one, it would be shown to be below the one that is the lowest in
    truth, one of g - 1 false findings; where two share the lowest place, either may be picked, which makes g.
    """
    return np.asarray(p_values <= level / len(p_values))


def may_be_lowest(p_values: FloatArray, *, level: float) -> BoolArray:
    """Shape (g,): which of g may be the lowest, from p-values (g, g) that i is below j.

    Not so where another is below it at the level, by Holm's correction for all ordered pairs.
    """
    pairs = ~np.eye(len(p_values), dtype=bool)
    threshold = holm_threshold(p_values[pairs], level)
    below: BoolArray = (p_values <= threshold) & pairs
    return np.logical_not(below.any(axis=0))


def agreeing_with_test(bounds: Intervals, values: FloatArray, differs: BoolArray) -> Intervals:
    """Intervals of differences ``values`` (p,) that leave out 0 exactly where an exact test says that they differ.

    A score interval and an exact test of the same level disagree now and then, where counts are small.
    """
    least = np.finfo(np.float64).smallest_normal
    up, down = differs & (values > 0), differs & (values < 0)
    low = np.where(up, np.maximum(bounds.low, least), np.where(differs, bounds.low, np.minimum(bounds.low, 0.0)))
    high = np.where(down, np.minimum(bounds.high, -least), np.where(differs, bounds.high, np.maximum(bounds.high, 0.0)))
    return Intervals(low, high)


def _hypergeometric_tail(k: IntArray, n: IntArray, k_rest: IntArray, n_rest: IntArray) -> FloatArray:
    """The chance of at most ``k`` successes among ``n`` if all k + k_rest fell anywhere in n + n_rest.

    Summed downwards from ``k``, which lies below the mode, until terms vanish.
    """
    total, trials = (k + k_rest).astype(np.float64), (n + n_rest).astype(np.float64)
    term = np.exp(_log_choose(n, k) + _log_choose(n_rest, k_rest) - _log_choose(trials, total))
    x, tail = k.astype(np.float64), term.copy()
    while (term > _NEGLIGIBLE * tail).any():
        term = term * x * (n_rest - total + x) / ((total - x + 1) * (n - x + 1))
        x = x - 1
        tail += term
    return np.minimum(tail, 1.0)


def _log_choose(n: ArrayLike, k: ArrayLike) -> FloatArray:
    size, chosen = np.asarray(n, dtype=np.float64), np.asarray(k, dtype=np.float64)
    return special.gammaln(size + 1) - special.gammaln(chosen + 1) - special.gammaln(size - chosen + 1)
