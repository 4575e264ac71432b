"""Ranks of models by accuracy, with simultaneous intervals.

Tied models share a range of ranks and are assigned its best rank. A model with a NaN accuracy is ranked last.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.stats.intervals import tail_share
from regrade.stats.multiplicity import holm_threshold
from regrade.stats.paired import discordant_counts, half_binomial_cdf

_BLOCK = 1 << 20  # pairs processed at a time; there may be millions


@dataclass(frozen=True)
class Ranks:
    """The rank of each model (1 is the best), with simultaneous bounds."""

    rank: IntArray
    low: IntArray
    high: IntArray


def rank_ranges(accuracies: ArrayLike) -> tuple[IntArray, IntArray]:
    """Return the first and the last rank of each model among its ties, by descending accuracy (1 is the best).

    NaN accuracies are tied for the last ranks.

    >>> [part.tolist() for part in rank_ranges([0.7, 0.9, 0.7, float("nan")])]
    [[2, 1, 2, 4], [3, 1, 3, 4]]
    """
    values = np.asarray(accuracies, dtype=np.float64)
    distinct, places = np.unique(np.where(np.isnan(values), np.inf, -values), return_inverse=True)
    sizes = np.bincount(places, minlength=len(distinct))
    last = np.cumsum(sizes)
    return (last - sizes + 1)[places], last[places]


def ranks(accuracies: ArrayLike) -> IntArray:
    """Return ranks by descending accuracy (1 is the best): the first of each range of `rank_ranges`.

    >>> ranks([0.7, 0.9, 0.7, 0.5]).tolist()
    [2, 1, 2, 4]
    """
    return rank_ranges(accuracies)[0]


def rank_intervals(correct: BoolArray, *, confidence: float = 0.95) -> Ranks:
    """Return simultaneous intervals for the ranks of m models, from ``correct`` (m, n).

    Every ordered pair is tested with McNemar's exact one-sided test, and the m (m - 1) tests are corrected by Holm. A
    model's rank lies between 1 plus the number of significantly better models and m minus the number of significantly
    worse ones. All true ranks lie in their intervals with at least the stated confidence (Mogstad et al. 2024, with
    exact tests).
    """
    return rank_intervals_from_counts(discordant_counts(correct), correct.mean(axis=1), confidence=confidence)


def rank_intervals_from_counts(
    counts: IntArray | FloatArray, accuracies: ArrayLike, *, confidence: float = 0.95
) -> Ranks:
    """Return `rank_intervals` from `discordant_counts` (m, m) and the accuracies (m,)."""
    models = len(counts)
    p_values = np.empty((models, models))
    step = max(_BLOCK // max(models, 1), 1)
    for start in range(0, models, step):
        rows = slice(start, start + step)
        wins, losses = counts[rows], counts[:, rows].T
        p_values[rows] = half_binomial_cdf(losses, wins + losses)  # P(at most these losses | equal models)
    ordered = ~np.eye(models, dtype=bool)
    threshold = holm_threshold(p_values[ordered], 2 * tail_share(confidence))
    better = (p_values <= threshold) & ordered
    return Ranks(ranks(accuracies), 1 + better.sum(axis=0), models - better.sum(axis=1))


def order_levels(
    only_first: IntArray | FloatArray, only_second: IntArray | FloatArray, *, confidence: float = 0.95
) -> FloatArray:
    """Shape (p,): the two-sided significance level of each pair in `rank_intervals`, from its discordant counts (p,).

    Twice the level, divided by the number of one-sided tests that do not reject, including the pair's own. A pair that
    is not ordered yet would be with an exact p-value of at most this, if the other pairs did not change.
    """
    losses, total = np.minimum(only_first, only_second), only_first + only_second
    in_order, reversed_ = half_binomial_cdf(losses, total), half_binomial_cdf(total - losses, total)
    level = 2 * tail_share(confidence)
    shown = in_order <= holm_threshold(np.concatenate([in_order, reversed_]), level)
    return 2 * level / (2 * len(total) - np.count_nonzero(shown) + shown)
