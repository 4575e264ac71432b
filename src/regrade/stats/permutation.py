"""Tests of whether two samples have the same distribution, by permutations of images or of clusters of images."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError

PERMUTATIONS = 999
"""The default number of permutations; the smallest p-value is 1 in one more."""

_BLOCK = 1 << 22  # cells that are permuted at a time

_Statistic = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class PermutationTest:
    """How much two samples differ: the ``effect``, from 0 to 1, its p-value, and the effects of permutations (b,).

    ``units`` are the numbers of clusters of both samples that were permuted.
    """

    effect: float
    p_value: float
    permuted: FloatArray
    n: int
    units: tuple[int, int]

    def critical_effect(self, level: float) -> float | None:
        """The effect above which the p-value would be at most ``level``; 0 if nothing varies.

        None if no effect can be significant, because too few clusters can be permuted.
        """
        ordered = np.sort(self.permuted)
        if not ordered[-1]:
            return 0.0
        larger = int(np.floor(level * (len(ordered) + 1) + 1e-9)) - 1  # permutations that may be larger
        if larger < 0 or (ordered == ordered[-1]).sum() > larger + 1:
            return None
        return float(ordered[-(larger + 1)])


def compare_categories(
    categories: ArrayLike,
    first: ArrayLike,
    *,
    rng: np.random.Generator,
    clusters: ArrayLike | None = None,
    strata: ArrayLike | None = None,
    permutations: int = PERMUTATIONS,
) -> PermutationTest:
    """Test whether categories (n,) are equally frequent in the ``first`` (n,) sample and in the rest.

    The statistic is Pearson's chi-square, summed over ``strata`` (n,) within which samples are permuted (default: one),
    such as classes. The effect is Cramér's V without the part that permutations show as well. Images of one of the
    ``clusters`` (n,), such as an author, stay together. The level of the test is exact if clusters are exchangeable,
    for any number of categories and images. Raises if a sample is empty.
    """
    sides, layers = _sides(first), _codes(strata, len(np.asarray(categories)))
    names, cells = np.unique(np.column_stack([layers, _codes(categories, len(layers))]), axis=0, return_inverse=True)
    groups = names[:, 0]

    def statistic(counts: FloatArray) -> FloatArray:
        return _chi_square(counts, np.bincount(cells.ravel()), groups) / len(sides)

    units = _Units.of(sides, layers, clusters)
    observed, permuted = _permuted(cells.ravel(), units, statistic, permutations, rng)
    beyond = np.sqrt(np.maximum(np.append(permuted, observed) - permuted.mean(), 0.0))
    return PermutationTest(float(beyond[-1]), _p_value(observed, permuted), beyond[:-1], len(sides), units.counts)


def compare_numbers(
    values: ArrayLike,
    first: ArrayLike,
    *,
    rng: np.random.Generator,
    clusters: ArrayLike | None = None,
    permutations: int = PERMUTATIONS,
) -> PermutationTest:
    """Test whether ``values`` (n,) have the same distribution in the ``first`` (n,) sample and in the rest.

    The effect is the distance of Kolmogorov and Smirnov: the largest difference between the shares of values up to any
    number. Ties need no correction. Clusters are as in `compare_categories`.
    """
    numbers = np.asarray(values, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise InputError("a comparison of distributions needs finite numbers")
    sides, places = _sides(first), _codes(numbers, len(numbers))

    def statistic(counts: FloatArray) -> FloatArray:
        return _largest_distance(counts, np.bincount(places))

    units = _Units.of(sides, _codes(None, len(numbers)), clusters)
    observed, permuted = _permuted(places, units, statistic, permutations, rng)
    return PermutationTest(observed, _p_value(observed, permuted), permuted, len(numbers), units.counts)


def _sides(first: ArrayLike) -> BoolArray:
    sides = np.asarray(first, dtype=bool)
    if sides.ndim != 1 or sides.all() or not sides.any():
        raise UndefinedError("a comparison needs two samples with at least one image each")
    return sides


def _codes(values: ArrayLike | None, size: int) -> IntArray:
    """The values numbered from 0; all 0 without values."""
    codes = np.zeros(size, dtype=np.int64) if values is None else np.unique(np.asarray(values), return_inverse=True)[1]
    if len(codes) != size:
        raise InputError(f"{size} values but {len(codes)} clusters or strata")
    return codes


@dataclass(frozen=True, eq=False)
class _Units:
    """Clusters within a layer and a sample (u,), sorted by layer, and the unit of each image (n,)."""

    layers: IntArray
    sides: BoolArray
    of_image: IntArray

    @classmethod
    def of(cls, sides: BoolArray, layers: IntArray, clusters: ArrayLike | None) -> _Units:
        if len(layers) != len(sides):
            raise InputError(f"{len(layers)} values but {len(sides)} samples")
        clustered = np.arange(len(sides)) if clusters is None else _codes(clusters, len(sides))
        keys, unit = np.unique(np.column_stack([layers, sides, clustered]), axis=0, return_inverse=True)
        return cls(keys[:, 0], keys[:, 1].astype(bool), unit.ravel())

    @property
    def counts(self) -> tuple[int, int]:
        return int(self.sides.sum()), int((~self.sides).sum())

    def shuffled(self, count: int, rng: np.random.Generator) -> BoolArray:
        """Shape (u, count): the sides in random order within each layer."""
        shuffled = np.repeat(self.sides[:, None], count, axis=1)
        for begin, end in pairwise(np.flatnonzero(np.diff(self.layers, prepend=-1, append=-1)).tolist()):
            shuffled[begin:end] = rng.permuted(shuffled[begin:end], axis=0)
        return shuffled


def _permuted(
    cells: IntArray, units: _Units, statistic: _Statistic, permutations: int, rng: np.random.Generator
) -> tuple[float, FloatArray]:
    """The statistic of the data and of permutations (b,), from counts (k, b) of the first sample."""
    from scipy import sparse  # slow to import, and rarely needed

    shape = int(cells.max()) + 1, len(units.sides)
    counts = sparse.csr_array((np.ones(len(cells)), (cells, units.of_image)), shape=shape)
    observed = float(statistic(counts @ units.sides[:, None].astype(np.float64))[0])
    step = max(_BLOCK // max(shape), 1)
    parts = [
        statistic(counts @ units.shuffled(min(step, permutations - start), rng).astype(np.float64))
        for start in range(0, permutations, step)
    ]
    return observed, np.concatenate(parts)


def _chi_square(counts: FloatArray, totals: IntArray, groups: IntArray) -> FloatArray:
    """Shape (b,): Pearson's statistic of counts (k, b) among totals (k,), summed over groups of categories (k,)."""
    bounds = np.flatnonzero(np.diff(groups, prepend=-1))
    sizes = np.add.reduceat(totals, bounds)[groups][:, None]
    share = np.add.reduceat(counts, bounds, axis=0)[groups] / sizes
    expected = totals[:, None] * share
    scale = expected * (1 - share)
    parts: FloatArray = np.divide((counts - expected) ** 2, scale, out=np.zeros_like(scale), where=scale > 0)
    return parts.sum(axis=0)


def _largest_distance(counts: FloatArray, totals: IntArray) -> FloatArray:
    """Shape (b,): the largest difference of the distribution functions, from counts (k, b) of ordered values."""
    below, everything = counts.cumsum(axis=0), totals.cumsum()[:, None]
    size, rest = below[-1], everything[-1] - below[-1]
    distances: FloatArray = np.abs(below / size - (everything - below) / rest)
    return distances.max(axis=0)


def _p_value(observed: float, permuted: FloatArray) -> float:
    """The share of permutations, with the data as one of them, that are at least as far from equality."""
    return float((1 + (permuted >= observed * (1 - 1e-12)).sum()) / (1 + len(permuted)))
