"""Ratio of the ranges of two scores over the same groups of images."""

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
    """Return the range of the first shares divided by that of the second, for the same groups and clusters.

    The interval is conservative, whichever groups are the extremes. The ratio is shown to be above r if some difference
    of the first shares exceeds r times every difference of the second in simultaneous tests (Bonferroni), and
    conversely for below. There is no upper bound if the second range is not significantly different from 0.
    """
    if first.errors.shape != second.errors.shape:
        raise InputError("a ratio of ranges needs the same groups and the same clusters on both sides")
    groups = len(first.values)
    if groups < 2:
        raise UndefinedError("a disparity needs at least two groups")
    c = float(special.ndtri(1 - tail_share(confidence) / (groups * (groups - 1))))
    low = max(float(_lower(test).min()) for test in _tests(first, second, c))
    high = min(float(_upper(test).max()) for test in _tests(second, first, c))
    first_range, second_range = float(np.ptp(first.values)), float(np.ptp(second.values))
    name = method_name("simultaneous Fieller", confidence)
    return Ratio(
        first_range / second_range if second_range else None,
        low if np.isfinite(low) else None,
        high if np.isfinite(high) else None,
        int(first.sizes.sum()),
        name,
    )


@dataclass(frozen=True)
class _Test:
    """One difference of the left shares, tested against all p differences of the right shares.

    The left difference should exceed the right ones, so its lower and their upper error bounds are used;
    ``left_square`` and ``right_squares`` are the squared distances to these bounds, ``covariances`` (p,) their
    products.
    """

    left: float
    left_square: float
    right: FloatArray
    right_squares: FloatArray
    covariances: FloatArray


def _tests(left: GroupShares, right: GroupShares, c: float) -> Iterator[_Test]:
    more, less = np.nonzero(~np.eye(len(left.values), dtype=bool))
    (down, up), (right_down, right_up) = left.wilson_distances(c), right.wilson_distances(c)
    left_differences = left.values[more] - left.values[less]
    right_differences = right.values[more] - right.values[less]
    left_squares = _squares(left, down, up)[more, less]
    right_squares = _squares(right, right_up, right_down)[more, less]
    correlations = error_correlations(left.errors, right.errors)
    for pair, (i, j) in enumerate(zip(more, less, strict=True)):
        row = down[i] * correlations[i] - up[j] * correlations[j]
        covariances = row[more] * right_up[more] - row[less] * right_down[less]
        yield _Test(
            float(left_differences[pair]), float(left_squares[pair]), right_differences, right_squares, covariances
        )


def _squares(shares: GroupShares, more: FloatArray, less: FloatArray) -> FloatArray:
    """Shape (g, g): squared distances of all differences to their bounds, from the distances of the two shares."""
    return more[:, None] ** 2 + less**2 - 2 * shares.correlations * np.outer(more, less)


def _lower(test: _Test) -> FloatArray:
    """The largest r at which left significantly exceeds r times each right; 0 if never, infinite if always."""
    rest = test.left**2 - test.left_square
    if test.left <= 0 or rest <= 0:
        return np.zeros(1)
    square, cross = test.right**2 - test.right_squares, test.left * test.right - test.covariances
    below = cross + np.sqrt(np.maximum(cross**2 - square * rest, 0.0))
    return np.where(below > 0, rest / np.where(below > 0, below, 1.0), np.inf)


def _upper(test: _Test) -> FloatArray:
    """The smallest r at which r times left significantly exceeds each right; infinite if it never does."""
    square = test.left**2 - test.left_square
    if test.left <= 0 or square <= 0:
        return np.full(1, np.inf)
    cross = test.left * test.right - test.covariances
    return (cross + np.sqrt(np.maximum(cross**2 - square * (test.right**2 - test.right_squares), 0.0))) / square
