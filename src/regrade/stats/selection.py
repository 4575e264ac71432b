"""Inference for the largest or the smallest of several shares.

The largest of several measured accuracies is biased upwards, because a lucky error is selected with it. The intervals
and tests in this module are corrected for that selection.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy
from numpy.typing import ArrayLike

from regrade.core.arrays import BoolArray, FloatArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import Intervals, as_counts, clopper_pearson, method_name
from regrade.stats.multiplicity import bonferroni_confidence, holm_threshold

_NEGLIGIBLE = 1e-14  # relative size of a term at which a tail sum stops


def best_share(successes: ArrayLike, trials: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    """Return the largest of m shares (m,), with an interval for the true share of the selected one.

    The lower bound holds simultaneously for all m (Bonferroni, under any dependence), and therefore for the selected
    one. The upper bound needs no correction if all have the same number of trials: the selected share is at least the
    measured share of the truly best one, whose bound holds. The interval then also contains the largest true share.

    >>> print(best_share([820, 800, 790], [1000, 1000, 1000]))
    82.0 [78.9, 84.3]
    """
    k, n = (np.atleast_1d(counts) for counts in as_counts(successes, trials))
    corrected = bonferroni_confidence(len(k), confidence)
    place = int(np.argmax(k / n))
    strict = clopper_pearson(k[place], n[place], confidence=corrected)
    plain = clopper_pearson(k[place], n[place], confidence=confidence if (n == n[0]).all() else corrected)
    name = method_name(f"clopper-pearson for the best of {len(k):,}" if len(k) > 1 else "clopper-pearson", confidence)
    return Estimate(float(k[place] / n[place]), float(strict.low), float(plain.high), int(n[place]), name)


def worst_share(successes: ArrayLike, trials: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    """Return the smallest of m shares (m,); see `best_share`."""
    k, n = as_counts(successes, trials)
    return worst_of_failures(best_share(n - k, n, confidence=confidence))


def worst_of_failures(failures: Estimate) -> Estimate:
    """The smallest share, from the largest share of failures."""
    return replace(
        failures,
        value=1 - failures.value,
        low=1 - failures.high,
        high=1 - failures.low,
        method=failures.method.replace("best", "worst"),
    )


def lower_share_p_values(
    successes: ArrayLike, trials: ArrayLike, design_effects: ArrayLike | None = None
) -> FloatArray:
    """Shape (g, g): one-sided p-values of Fisher's exact test that share i is below share j, from counts (g,).

    The shares should be over different images; the test is conservative if some are shared. The p-value is 1 if the
    measured share i is not below share j. For clusters of images, the counts are divided by ``design_effects`` (g,) of
    at least 1, and rounded so that the shares are closer to each other.

    >>> lower_share_p_values([1, 5], [6, 6]).round(4).tolist()
    [[1.0, 0.04], [1.0, 1.0]]
    """
    k, n = (np.atleast_1d(counts) for counts in as_counts(successes, trials))
    if (n <= 0).any():
        raise UndefinedError("a share needs at least 1 trial, got 0")
    effects = np.ones(len(k)) if design_effects is None else np.asarray(design_effects, dtype=np.float64)
    if effects.shape != k.shape or not (effects >= 1).all():
        raise InputError(f"tests need one design effect of at least 1 per share, got {effects}")
    size = np.maximum(n // effects, 1.0)
    raised, lowered = np.ceil(k * size / n), np.floor(k * size / n)
    p_values = np.ones((len(k), len(k)))
    i, j = np.nonzero(np.less.outer(raised / size, lowered / size))
    p_values[i, j] = _hypergeometric_tail(raised[i], size[i], lowered[j], size[j])
    return p_values


def below_others_p_values(values: ArrayLike, place: int) -> FloatArray:
    """Shape (g,): one-sided p-values that the mean of row ``place`` of ``values`` (g, n) is below each other mean.

    Paired t tests over the n images. Two images with the largest observed difference in either direction are added, so
    that few or equal images do not look certain (after Bonett and Price 2012). The p-value of the row itself is 1.
    """
    rows = np.asarray(values, dtype=np.float64)
    if rows.ndim != 2 or not rows.shape[1]:
        raise InputError(f"paired tests need values of shape (g, n) with images, got {rows.shape}")
    differences = rows - rows[place]
    images = rows.shape[1] + 2
    mean = differences.sum(axis=1) / images
    squares = (differences**2).sum(axis=1) + 2 * np.abs(differences).max(axis=1) ** 2
    error = np.sqrt(np.maximum(squares / images - mean**2, 0.0) / images)
    p_values = scipy.special.stdtr(max(images - 3, 1), -mean / np.where(error > 0, error, 1.0))
    return np.where(error > 0, p_values, 1.0)


def significantly_below(p_values: FloatArray, *, level: float) -> BoolArray:
    """Shape (g,): the groups that the lowest one is significantly below, from its p-values (g,) against each.

    Each test uses ``level`` / g, which accounts for the lowest group being selected from the data: a wrong selection
    would be a false rejection against the truly lowest group, one of g - 1 tests, or of g if two are tied.
    """
    return np.asarray(p_values <= level / len(p_values))


def lowest_candidates(p_values: FloatArray, *, level: float) -> BoolArray:
    """Shape (g,): the groups that may be the lowest, from p-values (g, g) that i is below j.

    A group is excluded if another is significantly below it, with Holm's correction over all ordered pairs.
    """
    pairs = ~np.eye(len(p_values), dtype=bool)
    threshold = holm_threshold(p_values[pairs], level)
    below: BoolArray = (p_values <= threshold) & pairs
    return np.logical_not(below.any(axis=0))


def align_with_test(bounds: Intervals, values: FloatArray, differs: BoolArray) -> Intervals:
    """Return the intervals of ``values`` (p,), adjusted to exclude 0 exactly where ``differs`` (p,) is true.

    A score interval and an exact test at the same level can disagree if counts are small.
    """
    least = np.finfo(np.float64).smallest_normal
    up, down = differs & (values > 0), differs & (values < 0)
    low = np.where(up, np.maximum(bounds.low, least), np.where(differs, bounds.low, np.minimum(bounds.low, 0.0)))
    high = np.where(down, np.minimum(bounds.high, -least), np.where(differs, bounds.high, np.maximum(bounds.high, 0.0)))
    return Intervals(low, high)


def agreeing_with_test(estimate: Estimate, *, differs: bool) -> Estimate:
    """Return a difference whose interval excludes 0 exactly if the test that decides about it calls it different.

    >>> print(agreeing_with_test(Estimate(0.06, 0.01, 0.11, 80, "newcombe 95%"), differs=False))
    6.0 [0.0, 11.0]
    """
    bounds = Intervals(np.array([estimate.low]), np.array([estimate.high]))
    aligned = align_with_test(bounds, np.array([estimate.value]), np.array([differs]))
    return replace(estimate, low=float(aligned.low[0]), high=float(aligned.high[0]))


def _hypergeometric_tail(k: FloatArray, n: FloatArray, k_rest: FloatArray, n_rest: FloatArray) -> FloatArray:
    """P(at most ``k`` successes among ``n``) if the k + k_rest successes are spread at random over n + n_rest.

    Summed downwards from ``k``, which is below the mode, until the terms are negligible.
    """
    total, trials = k + k_rest, n + n_rest
    term = np.exp(_log_choose(n, k) + _log_choose(n_rest, k_rest) - _log_choose(trials, total))
    x, tail = k, term.copy()
    while (term > _NEGLIGIBLE * tail).any():
        term = term * x * (n_rest - total + x) / ((total - x + 1) * (n - x + 1))
        x = x - 1
        tail += term
    return np.minimum(tail, 1.0)


def _log_choose(n: ArrayLike, k: ArrayLike) -> FloatArray:
    size, chosen = np.asarray(n, dtype=np.float64), np.asarray(k, dtype=np.float64)
    return (
        scipy.special.gammaln(size + 1) - scipy.special.gammaln(chosen + 1) - scipy.special.gammaln(size - chosen + 1)
    )
