"""Ranks of models by accuracy, and how sure they are.

One rule for all: equal models share a range of ranks, whose better end is their rank; a model whose accuracy is not a
number comes last.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.stats.intervals import tail_share
from regrade.stats.multiplicity import holm_threshold
from regrade.stats.paired import at_most, discordant_counts

_BLOCK = 1 << 20  # pairs at a time, where there may be millions


@dataclass(frozen=True)
class Ranks:
    """The rank of each model, 1 the best, with bounds that hold for all models together."""

    rank: IntArray
    low: IntArray
    high: IntArray


def rank_ranges(accuracies: ArrayLike) -> tuple[IntArray, IntArray]:
    """The first and the last rank by descending accuracy that each model shares with its equals, 1 the best.

    What is not a number comes last, after all numbers; several share the ranks that are left.

    >>> [part.tolist() for part in rank_ranges([0.7, 0.9, 0.7, float("nan")])]
    [[2, 1, 2, 4], [3, 1, 3, 4]]
    """
    values = np.asarray(accuracies, dtype=np.float64)
    distinct, places = np.unique(np.where(np.isnan(values), np.inf, -values), return_inverse=True)
    sizes = np.bincount(places, minlength=len(distinct))
    last = np.cumsum(sizes)
    return (last - sizes + 1)[places], last[places]


def ranks(accuracies: ArrayLike) -> IntArray:
    """Ranks by descending accuracy, 1 the best: the first of each range of `rank_ranges`.

    >>> ranks([0.7, 0.9, 0.7, 0.5]).tolist()
    [2, 1, 2, 4]
    """
    return rank_ranges(accuracies)[0]


def rank_intervals(correct: BoolArray, *, confidence: float = 0.95) -> Ranks:
    """Simultaneous intervals for the ranks of m models, from ``correct`` (m, n).

    Every ordered pair is tested one-sided with McNemar's exact test and the m (m - 1) tests are
    corrected by Holm; a model's rank lies between one more than the number of models proven better
    and m less the number proven worse. With at least the stated confidence all true ranks lie in
    their intervals at once (the construction of Mogstad et al. 2024 with exact tests).
    """
    return rank_intervals_from_counts(discordant_counts(correct), correct.mean(axis=1), confidence=confidence)


def rank_intervals_from_counts(counts: IntArray, accuracies: ArrayLike, *, confidence: float = 0.95) -> Ranks:
    """As `rank_intervals`, from `discordant_counts` (m, m) and the accuracies (m,)."""
    models = len(counts)
    p_values = np.empty((models, models))
    step = max(_BLOCK // max(models, 1), 1)
    for start in range(0, models, step):
        rows = slice(start, start + step)
        wins, losses = counts[rows], counts[:, rows].T
        p_values[rows] = at_most(losses, wins + losses)  # so few losses, if both were equally good
    ordered = ~np.eye(models, dtype=bool)
    threshold = holm_threshold(p_values[ordered], 2 * tail_share(confidence))
    better = (p_values <= threshold) & ordered
    return Ranks(ranks(accuracies), 1 + better.sum(axis=0), models - better.sum(axis=1))


def order_levels(only_first: IntArray, only_second: IntArray, *, confidence: float = 0.95) -> FloatArray:
    """Shape (p,): the two-sided level of each pair in the tests of `rank_intervals`, from its discordant counts (p,).

    Twice the level over the number of one-sided tests that do not reject, the pair's own included. A pair without an
    order would have one with an exact p-value of at most this, the others as they are.
    """
    losses, total = np.minimum(only_first, only_second), only_first + only_second
    in_order, reversed_ = at_most(losses, total), at_most(total - losses, total)
    level = 2 * tail_share(confidence)
    shown = in_order <= holm_threshold(np.concatenate([in_order, reversed_]), level)
    return 2 * level / (2 * len(total) - np.count_nonzero(shown) + shown)
