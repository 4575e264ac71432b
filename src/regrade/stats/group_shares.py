"""Shares of several groups of images: how far apart they are, and how low the lowest is.

The largest difference of measured shares is too large on average, since the largest of several errors is added to it.
The intervals here know that which groups are the extremes was seen in the same images.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse, special

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import Intervals, exact_bounds, method_name, normal_quantile, tail_share

_GRID = 400  # places at which the distribution of the largest error is added up
_NOTHING = 1e-12  # below this a variance is rounding


@dataclass(frozen=True, eq=False)
class ErrorTerms:
    """What each image (n,) adds to the error of its group's share; ``parts`` (n,) are the clusters, or the images."""

    added: FloatArray
    parts: IntArray
    members: IntArray
    groups: int

    @cached_property
    def by_part(self) -> sparse.csc_array:
        """Shape (c, g): the sums over the images of each part in each group."""
        shape = int(self.parts.max()) + 1, self.groups
        return sparse.csc_array((self.added, (self.parts, self.members)), shape=shape)


@dataclass(frozen=True, eq=False)
class GroupShares:
    """The shares of g groups, ``sizes`` (g,) images each.

    ``worth`` (g,) is how many independent images each share is as sure as, if variances were known. ``clusters`` (g,)
    counts those of each group, where images come in clusters. ``terms`` are what images add to the errors of shares.
    """

    values: FloatArray
    sizes: IntArray
    worth: FloatArray
    clusters: IntArray | None
    terms: ErrorTerms

    @property
    def errors(self) -> sparse.csc_array:
        """Shape (c, g), mostly nothing: what each of all c clusters, or images, adds to the error of each share."""
        return self.terms.by_part

    @cached_property
    def correlations(self) -> FloatArray:
        """Shape (g, g): how the errors of the shares go together; not at all if no cluster is in two groups."""
        if self.clusters is None:
            return np.eye(len(self.values))
        return error_correlations(self.errors, self.errors)

    def exact(self, confidence: float) -> Intervals:
        """Shape (g,): Clopper-Pearson intervals, or Korn-Graubard ones of clusters; all of [0, 1] for one cluster."""
        worth = self._worth(1 - tail_share(confidence))
        return exact_bounds(self.values * worth, worth, confidence=confidence)

    def reaches(self, z: float) -> tuple[FloatArray, FloatArray]:
        """Shapes (g,): how far below and above each share its Wilson interval reaches, of ``z`` standard errors."""
        worth = self._worth(float(special.ndtr(z)))
        total = worth + z * z
        center = (self.values * worth + z * z / 2) / total
        reach = z * np.sqrt(self.values * (1 - self.values) * worth + z * z / 4) / total
        low, high = np.maximum(center - reach, 0.0), np.minimum(center + reach, 1.0)
        return np.maximum(self.values - low, 0.0), np.maximum(high - self.values, 0.0)

    def _worth(self, upper: float) -> FloatArray:
        """What the shares are worth up to this quantile: less with few clusters, nothing with one (Korn, Graubard)."""
        if self.clusters is None:
            return self.worth
        known = special.stdtrit(np.maximum(self.sizes - 1.0, 1.0), upper)
        estimated = special.stdtrit(np.maximum(self.clusters - 1.0, 1.0), upper)
        return np.where(self.clusters > 1, self.worth * (known / estimated) ** 2, 0.0)


def group_shares(scores: ArrayLike, groups: ArrayLike, clusters: ArrayLike | None = None) -> GroupShares:
    """Shares by group, from ``scores`` (n,) between 0 and 1 and the ``groups`` (n,) numbered from 0, none empty.

    Images of one of the ``clusters`` (n,) do not count as independent, and may be in several groups.

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
        raise UndefinedError("a group has no images: its share has no value")
    values = np.clip(np.bincount(members, weights=y) / sizes, 0.0, 1.0)
    parts = np.arange(len(y)) if clusters is None else np.unique(np.asarray(clusters), return_inverse=True)[1]
    terms = ErrorTerms((y - values[members]) / sizes[members], parts, members, len(sizes))
    if clusters is None:
        squares = np.asarray(np.bincount(members, weights=terms.added**2), dtype=np.float64)
        return GroupShares(values, sizes, _worth(values, squares, sizes), None, terms)
    counts = np.bincount(np.unique(parts * len(sizes) + members) % len(sizes), minlength=len(sizes))
    variances = _squares(terms.by_part) * counts / np.maximum(counts - 1, 1)
    return GroupShares(values, sizes, _worth(values, variances, counts), counts, terms)


def error_correlations(first: sparse.csc_array, second: sparse.csc_array) -> FloatArray:
    """Shape (g, h): how the errors of g shares go together with those of h others on the same clusters."""
    lengths = np.outer(np.sqrt(_squares(first)), np.sqrt(_squares(second)))
    return np.clip((first.T @ second).toarray() / np.where(lengths > 0, lengths, 1.0), -1.0, 1.0)


def share_difference(shares: GroupShares, first: int, second: int, *, confidence: float = 0.95) -> Estimate:
    """The share of one group less that of another, named before anyone looked (Newcombe 1998; Zou and Donner 2008)."""
    bounds = _differences(shares, normal_quantile(confidence))
    value = float(shares.values[first] - shares.values[second])
    n = int(shares.sizes[first] + shares.sizes[second])
    low, high = float(bounds.low[first, second]), float(bounds.high[first, second])
    return Estimate(value, low, high, n, method_name(_kind(shares, "newcombe"), confidence))


def share_range(shares: GroupShares, *, confidence: float = 0.95) -> Estimate:
    """The largest share less the smallest, with an interval that covers at least as often as it promises.

    Every difference is at most the range, so the lower bound is the largest of the lower bounds of all differences,
    each as low as it takes for all of them to hold at once (Bonferroni). One difference is the range, so the largest of
    the upper bounds needs no such care. The interval begins at 0 where no difference can be shown; the value itself is
    too large on average, by `share_noise` at the most. A single group raises.
    """
    if len(shares.values) < 2:
        raise UndefinedError("a disparity needs at least two groups")
    low = float(_at_once(shares, confidence).low.max())  # at least 0, that of a group less itself
    high = float(_differences(shares, normal_quantile(confidence)).high.max())
    name = method_name(_kind(shares, "simultaneous newcombe"), confidence)
    return Estimate(float(np.ptp(shares.values)), low, high, int(shares.sizes.sum()), name)


def extremes_apart(shares: GroupShares, *, confidence: float = 0.95) -> bool:
    """Whether the group with the largest share is above the one with the smallest for sure, though both were picked.

    A range above 0 is shown more easily: some two groups differ then, but not always these two.
    """
    bounds = _at_once(shares, confidence)
    return bool(bounds.low[shares.values.argmax(), shares.values.argmin()] > 0)


def share_noise(shares: GroupShares) -> float:
    """The range that is expected of the errors alone, as if all groups were equal.

    Of the measured range this much at the most is chance on average: a range of sums is at most the sum of ranges. The
    errors are taken as normal and, between groups, as independent.
    """
    mean = float(shares.values @ shares.sizes / shares.sizes.sum())
    deviations = np.sqrt(max(mean * (1 - mean), _NOTHING) / np.maximum(shares.worth, 1.0))
    reach = 6 * float(deviations.max())
    grid = np.linspace(-reach, reach, _GRID)
    below = special.ndtr(grid[:, None] / deviations).prod(axis=1)
    return 2 * float(np.where(grid >= 0, 1 - below, -below).sum() * (grid[1] - grid[0]))


def smallest_share(shares: GroupShares, *, confidence: float = 0.95) -> Estimate:
    """The smallest share, with an interval for the smallest true one, whichever group that is.

    It is below every group's upper bound, so these hold at once; and above the lower bound of the group that it is.
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


def _worth(values: FloatArray, variances: FloatArray, counts: IntArray) -> FloatArray:
    """The images behind a variance; as many as there are, or clusters, where nothing varies."""
    spread = values * (1 - values)
    varies = variances > _NOTHING * np.maximum(spread, _NOTHING)
    return np.where(varies, spread / np.where(varies, variances, 1.0), counts)


def _at_once(shares: GroupShares, confidence: float) -> Intervals:
    """Shape (g, g): differences whose lower bounds hold for all pairs at once (Bonferroni)."""
    groups = len(shares.values)
    return _differences(shares, float(special.ndtri(1 - tail_share(confidence) / (groups * (groups - 1)))))


def _differences(shares: GroupShares, z: float) -> Intervals:
    """Shape (g, g): intervals of each share less each other; where clusters are in both, their errors go together."""
    down, up = shares.reaches(z)
    difference = shares.values[:, None] - shares.values
    together = 2 * shares.correlations
    low = difference - np.sqrt(np.maximum(_joined(down, up, together), 0.0))
    high = difference + np.sqrt(np.maximum(_joined(up, down, together), 0.0))
    np.fill_diagonal(low, 0.0)
    np.fill_diagonal(high, 0.0)
    return Intervals(np.maximum(low, -1.0), np.minimum(high, 1.0))


def _joined(own: FloatArray, other: FloatArray, together: FloatArray) -> FloatArray:
    return own[:, None] ** 2 + other**2 - together * np.outer(own, other)
