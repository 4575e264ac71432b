"""How many times as far apart the groups are for one score as for another, on the same images."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import special

from regrade.core.arrays import FloatArray
from regrade.core.errors import InputError, UndefinedError
from regrade.stats.group_shares import GroupShares, error_correlations
from regrade.stats.intervals import method_name, tail_share
from regrade.stats.ratio import Ratio


def range_ratio(first: GroupShares, second: GroupShares, *, confidence: float = 0.95) -> Ratio:
    """The range of the first shares divided by that of the second, of the same groups and clusters.

    The interval covers at least as often as it promises, whichever groups are the extremes. That the ratio is above r
    is shown if some difference of the first exceeds r times every difference of the second, by so much that all these
    tests hold at once (Bonferroni); and the other way round for below. There is no upper bound where the second range
    cannot be told from 0.
    """
    if first.errors.shape != second.errors.shape:
        raise InputError("a ratio of ranges needs the same groups and the same clusters on both sides")
    groups = len(first.values)
    if groups < 2:
        raise UndefinedError("a disparity needs at least two groups")
    c = float(special.ndtri(1 - tail_share(confidence) / (groups * (groups - 1))))
    low = max(float(_lower(test).min()) for test in _tests(first, second, c))
    high = min(float(_upper(test).max()) for test in _tests(second, first, c))
    ends = float(np.ptp(first.values)), float(np.ptp(second.values))
    name = method_name("simultaneous Fieller", confidence)
    return Ratio(
        ends[0] / ends[1] if ends[1] else None,
        low if np.isfinite(low) else None,
        high if np.isfinite(high) else None,
        int(first.sizes.sum()),
        name,
    )


@dataclass(frozen=True)
class _Test:
    """One difference of some shares held against all p differences of others, with squared reaches of their errors.

    The one should exceed the others, so that its error counts downwards and theirs upwards.
    """

    one: float
    one_square: float
    others: FloatArray
    others_square: FloatArray
    together: FloatArray


def _tests(left: GroupShares, right: GroupShares, c: float) -> Iterator[_Test]:
    more, less = np.nonzero(~np.eye(len(left.values), dtype=bool))
    (down, up), (right_down, right_up) = left.reaches(c), right.reaches(c)
    own, others = left.values[more] - left.values[less], right.values[more] - right.values[less]
    own_square = _squares(left, down, up)[more, less]
    others_square = _squares(right, right_up, right_down)[more, less]
    both = error_correlations(left.errors, right.errors)
    for pair, (i, j) in enumerate(zip(more, less, strict=True)):
        row = down[i] * both[i] - up[j] * both[j]
        together = row[more] * right_up[more] - row[less] * right_down[less]
        yield _Test(float(own[pair]), float(own_square[pair]), others, others_square, together)


def _squares(shares: GroupShares, more: FloatArray, less: FloatArray) -> FloatArray:
    """Shape (g, g): the squared reach of every difference, from the reaches of the shares on either side."""
    return more[:, None] ** 2 + less**2 - 2 * shares.correlations * np.outer(more, less)


def _lower(test: _Test) -> FloatArray:
    """Up to which r the one exceeds r times each other for sure; 0 if it never does, no end if it always does."""
    rest = test.one**2 - test.one_square
    if test.one <= 0 or rest <= 0:
        return np.zeros(1)
    square, cross = test.others**2 - test.others_square, test.one * test.others - test.together
    below = cross + np.sqrt(np.maximum(cross**2 - square * rest, 0.0))
    return np.where(below > 0, rest / np.where(below > 0, below, 1.0), np.inf)


def _upper(test: _Test) -> FloatArray:
    """From which r on r times the one exceeds each other for sure; no end if it never does."""
    square = test.one**2 - test.one_square
    if test.one <= 0 or square <= 0:
        return np.full(1, np.inf)
    cross = test.one * test.others - test.together
    return (cross + np.sqrt(np.maximum(cross**2 - square * (test.others**2 - test.others_square), 0.0))) / square
