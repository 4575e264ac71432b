"""Shares (proportions) of several groups of images: their range, their differences and the smallest one.

The largest difference between measured shares is biased upwards, because the extremes are selected by their errors.
The intervals in this module account for that selection.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy
from numpy.typing import ArrayLike

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import Intervals, Ratio, exact_bounds, method_name, normal_quantile, tail_share

if TYPE_CHECKING:
    from scipy import sparse

_GRID = 400  # integration points for the distribution of the largest error
_EPSILON = 1e-12  # a variance below this is rounding error


@dataclass(frozen=True, eq=False)
class ErrorTerms:
    """Contribution of each image (n,) to the error of its group's share; ``parts`` (n,) are clusters or images."""

    added: FloatArray
    parts: IntArray
    members: IntArray
    groups: int

    @cached_property
    def by_part(self) -> sparse.csc_array:
        """Shape (c, g): sums over the images of each part in each group."""
        from scipy import sparse  # slow to import

        shape = int(self.parts.max()) + 1, self.groups
        return sparse.csc_array((self.added, (self.parts, self.members)), shape=shape)


@dataclass(frozen=True, eq=False)
class GroupShares:
    """Shares of g groups with ``sizes`` (g,) images each.

    ``effective_sizes`` (g,) are effective sample sizes, as if variances were known. ``clusters`` (g,) is the number of
    clusters per group, if images are clustered. ``terms`` are the images' contributions to the errors of the shares.
    """

    values: FloatArray
    sizes: IntArray
    effective_sizes: FloatArray
    clusters: IntArray | None
    terms: ErrorTerms

    @property
    def errors(self) -> sparse.csc_array:
        """Sparse, shape (c, g): the contribution of each cluster (or image) to the error of each share."""
        return self.terms.by_part

    @cached_property
    def correlations(self) -> FloatArray:
        """Shape (g, g): correlations of the errors of the shares; 0 if no cluster is in two groups."""
        if self.clusters is None:
            return np.eye(len(self.values))
        correlations = error_correlations(self.errors, self.errors)
        np.fill_diagonal(correlations, 1.0)  # also of a share of 0 or 1, whose measured errors are all 0
        return correlations

    def exact(self, confidence: float) -> Intervals:
        """Shape (g,): Clopper-Pearson intervals (Korn-Graubard for clusters); [0, 1] for a single cluster."""
        sizes = self.adjusted_sizes(1 - tail_share(confidence))
        return exact_bounds(self.values * sizes, sizes, confidence=confidence)

    def estimates(self, confidence: float) -> list[Estimate]:
        """The shares with their exact intervals."""
        bounds = self.exact(confidence)
        method = method_name("clopper-pearson" if self.clusters is None else "clustered korn-graubard", confidence)
        rows = zip(self.values, bounds.low, bounds.high, self.sizes, strict=True)
        return [Estimate(float(share), float(low), float(high), int(n), method) for share, low, high, n in rows]

    def wilson_distances(self, z: float) -> tuple[FloatArray, FloatArray]:
        """Shapes (g,): distances of each share to the lower and the upper Wilson bound at ``z`` standard errors."""
        sizes = self.adjusted_sizes(float(scipy.special.ndtr(z)))
        total = sizes + z * z
        center = (self.values * sizes + z * z / 2) / total
        half_width = z * np.sqrt(self.values * (1 - self.values) * sizes + z * z / 4) / total
        low, high = np.maximum(center - half_width, 0.0), np.minimum(center + half_width, 1.0)
        return np.maximum(self.values - low, 0.0), np.maximum(high - self.values, 0.0)

    def adjusted_sizes(self, upper: float) -> FloatArray:
        """Effective sizes, reduced for few clusters at the quantile ``upper``; 0 for one (Korn and Graubard)."""
        if self.clusters is None:
            return self.effective_sizes
        reduced = few_clusters(self.effective_sizes, self.sizes, self.clusters, upper=upper)
        return np.where(self.clusters == self.sizes, self.effective_sizes, reduced)


def few_clusters(effective_sizes: FloatArray, images: IntArray, clusters: IntArray, *, upper: float) -> FloatArray:
    """Shape (g,): effective sizes, reduced for few ``clusters`` (g,) at the quantile ``upper``; 0 for a single one."""
    unclustered = scipy.special.stdtrit(np.maximum(images - 1.0, 1.0), upper)
    clustered = scipy.special.stdtrit(np.maximum(clusters - 1.0, 1.0), upper)
    return np.where(clusters > 1, effective_sizes * (unclustered / clustered) ** 2, 0.0)


def group_shares(scores: ArrayLike, groups: ArrayLike, clusters: ArrayLike | None = None) -> GroupShares:
    """Return the mean of ``scores`` (n,) in [0, 1] per group; ``groups`` (n,) are numbered from 0, none empty.

    Images of one of the ``clusters`` (n,) are treated as dependent; a cluster may span several groups.

    >>> group_shares([1, 0, 1, 1], [0, 0, 1, 1]).values.tolist()
    [0.5, 1.0]
    """
    y, members = np.asarray(scores, dtype=np.float64), np.asarray(groups)
    if y.shape != members.shape or y.ndim != 1 or not len(y):
        raise InputError(f"shares need scores (n,) and groups (n,), got {y.shape} and {members.shape}")
    if not ((y >= 0) & (y <= 1)).all():
        raise InputError("scores must lie between 0 and 1")
    sizes = np.bincount(members)
    if not sizes.all():
        raise UndefinedError("a group has no images: its share is undefined")
    values = np.clip(np.bincount(members, weights=y) / sizes, 0.0, 1.0)
    parts = np.arange(len(y)) if clusters is None else np.unique(np.asarray(clusters), return_inverse=True)[1]
    terms = ErrorTerms((y - values[members]) / sizes[members], parts, members, len(sizes))
    if clusters is None:
        squares = np.asarray(np.bincount(members, weights=terms.added**2), dtype=np.float64)
        return GroupShares(values, sizes, effective_sizes_of(values, squares, sizes), None, terms)
    counts = np.bincount(np.unique(parts * len(sizes) + members) % len(sizes), minlength=len(sizes))
    factors = np.where(counts == sizes, 1.0, counts / np.maximum(counts - 1, 1))  # single images are independent
    variances = _squares(terms.by_part) * factors
    return GroupShares(values, sizes, effective_sizes_of(values, variances, counts), counts, terms)


def error_correlations(first: sparse.csc_array, second: sparse.csc_array) -> FloatArray:
    """Shape (g, h): correlations of the errors of g shares with those of h shares on the same clusters."""
    lengths = np.outer(np.sqrt(_squares(first)), np.sqrt(_squares(second)))
    return np.clip((first.T @ second).toarray() / np.where(lengths > 0, lengths, 1.0), -1.0, 1.0)


def share_difference(shares: GroupShares, first: int, second: int, *, confidence: float = 0.95) -> Estimate:
    """Return the difference of the shares of two groups chosen in advance (Newcombe 1998; Zou and Donner 2008)."""
    bounds = _differences(shares, normal_quantile(confidence))
    value = float(shares.values[first] - shares.values[second])
    n = int(shares.sizes[first] + shares.sizes[second])
    low, high = float(bounds.low[first, second]), float(bounds.high[first, second])
    return Estimate(value, low, high, n, method_name(_kind(shares, "newcombe"), confidence))


def share_range(shares: GroupShares, *, confidence: float = 0.95) -> Estimate:
    """Return the largest share minus the smallest, with a conservative interval.

    The range is at least every difference, so the lower bound is the largest simultaneous lower bound of all
    differences (Bonferroni). The range is one of the differences, so the largest upper bound needs no correction. The
    lower bound is 0 if no difference is significant. The value is biased upwards by at most `share_noise`. A single
    group raises.
    """
    if len(shares.values) < 2:
        raise UndefinedError("a disparity needs at least two groups")
    low = float(_simultaneous(shares, confidence).low.max())  # at least 0: the diagonal is 0
    high = float(_differences(shares, normal_quantile(confidence)).high.max())
    name = method_name(_kind(shares, "simultaneous newcombe"), confidence)
    return Estimate(float(np.ptp(shares.values)), low, high, int(shares.sizes.sum()), name)


def extremes_differ(shares: GroupShares, *, confidence: float = 0.95) -> bool:
    """Return whether the groups with the largest and the smallest share differ, corrected for their selection.

    A range above 0 is weaker: it only shows that some two groups differ.
    """
    above = shown_above(shares, confidence=confidence)
    return bool(above[shares.values.argmax(), shares.values.argmin()])


def shown_above(shares: GroupShares, *, confidence: float = 0.95) -> BoolArray:
    """Shape (g, g): which groups have a significantly larger share than others, corrected for all ordered pairs."""
    above: BoolArray = _simultaneous(shares, confidence).low > 0
    return above


def share_noise(shares: GroupShares) -> float:
    """Return the expected range if all groups had the same true share.

    This is the largest possible bias of the measured range, since a range of sums is at most the sum of the ranges.
    Errors are assumed normal and independent between groups.
    """
    mean = float(shares.values @ shares.sizes / shares.sizes.sum())
    deviations = np.sqrt(max(mean * (1 - mean), _EPSILON) / np.maximum(shares.effective_sizes, 1.0))
    limit = 6 * float(deviations.max())
    grid = np.linspace(-limit, limit, _GRID)
    below = scipy.special.ndtr(grid[:, None] / deviations).prod(axis=1)
    return 2 * float(np.where(grid >= 0, 1 - below, -below).sum() * (grid[1] - grid[0]))


def smallest_share(shares: GroupShares, *, confidence: float = 0.95) -> Estimate:
    """Return the smallest share, with an interval for the smallest true share, whichever group has it.

    The upper bound is the smallest simultaneous upper bound of all groups; the lower bound is the smallest lower bound.
    """
    place = int(shares.values.argmin())
    strict = shares.exact(1 - (1 - confidence) / len(shares.values))
    low, high = float(shares.exact(confidence).low.min()), float(strict.high.min())
    value = float(shares.values[place])
    name = method_name(_kind(shares, "simultaneous exact"), confidence)
    return Estimate(value, min(low, value), max(high, value), int(shares.sizes[place]), name)


def _kind(shares: GroupShares, method: str) -> str:
    return method if shares.clusters is None else f"clustered {method}"


def _squares(errors: sparse.csc_array) -> FloatArray:
    return np.add.reduceat(np.append(errors.data**2, 0.0), errors.indptr[:-1])  # no column is empty


def effective_sizes_of(values: FloatArray, variances: FloatArray, counts: IntArray) -> FloatArray:
    """Return effective sample sizes from variances; ``counts`` of images or clusters where nothing varies."""
    spread = values * (1 - values)
    varies = variances > _EPSILON * np.maximum(spread, _EPSILON)
    return np.where(varies, spread / np.where(varies, variances, 1.0), counts)


def _simultaneous(shares: GroupShares, confidence: float) -> Intervals:
    """Shape (g, g): differences whose lower bounds hold for all pairs simultaneously (Bonferroni)."""
    groups = len(shares.values)
    return _differences(shares, float(scipy.special.ndtri(1 - tail_share(confidence) / (groups * (groups - 1)))))


def _differences(shares: GroupShares, z: float) -> Intervals:
    """Shape (g, g): intervals of all differences of shares, with correlated errors where clusters are shared."""
    down, up = shares.wilson_distances(z)
    difference = shares.values[:, None] - shares.values
    low = difference - np.sqrt(np.maximum(_squared_distance(down, up, shares.correlations), 0.0))
    high = difference + np.sqrt(np.maximum(_squared_distance(up, down, shares.correlations), 0.0))
    np.fill_diagonal(low, 0.0)
    np.fill_diagonal(high, 0.0)
    return Intervals(np.maximum(low, -1.0), np.minimum(high, 1.0))


def _squared_distance(first: FloatArray, second: FloatArray, correlations: FloatArray) -> FloatArray:
    """Shape (g, g): squared distances of all differences to their bounds, from the distances of the two shares."""
    return first[:, None] ** 2 + second**2 - 2 * correlations * np.outer(first, second)


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
    c = float(scipy.special.ndtri(1 - tail_share(confidence) / (groups * (groups - 1))))
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
    left_squares = _squared_distance(down, up, left.correlations)[more, less]
    right_squares = _squared_distance(right_up, right_down, right.correlations)[more, less]
    correlations = error_correlations(left.errors, right.errors)
    for pair, (i, j) in enumerate(zip(more, less, strict=True)):
        row = down[i] * correlations[i] - up[j] * correlations[j]
        covariances = row[more] * right_up[more] - row[less] * right_down[less]
        yield _Test(
            float(left_differences[pair]), float(left_squares[pair]), right_differences, right_squares, covariances
        )


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
