"""Exact nearest neighbors: every query held against every reference, in blocks that fit the cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regrade.core import InputError
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.cores import on_all_cores
from regrade.neighbors.engines import NeighborEngine, NumpySearcher, Searcher
from regrade.neighbors.top_scores import NEVER, Best

Rows = NDArray[Any]
"""Rows of numbers (n, d), often a memory map."""

ProgressCallback = Callable[[Sequence[int]], Iterable[int]]
"""Goes through numbers one by one, showing how far it is."""

_SPARE = 8  # more neighbors than asked for are chosen in single precision, and put in order in double precision
_QUERIES = 4096  # at a time
_NUMBERS = 1 << 24  # of queries at a time: 64 MB
_MEASURED = 1 << 18  # numbers that are measured again at a time: they stay in the cache


class Metric(Enum):
    """How far apart two rows of numbers are."""

    EUCLIDEAN = "squared euclidean"
    COSINE = "cosine"
    """1 - cosine of the angle between them; a row of zeros has no angle and no neighbors."""


@dataclass(frozen=True, eq=False)
class Nearest:
    """The nearest references of each query, nearest first, of equally near ones the lower index first.

    ``indices`` (q, k) are -1 and ``distances`` (q, k) not a number where there are fewer.
    """

    indices: IntArray
    distances: FloatArray


def nearest(
    queries: Rows,
    references: Rows,
    *,
    k: int,
    metric: Metric = Metric.EUCLIDEAN,
    within: bool = False,
    usable: BoolArray | None = None,
    engine: NeighborEngine = NeighborEngine.NUMPY,
    watch: ProgressCallback = iter,
) -> Nearest:
    """Find the ``k`` nearest of ``references`` (n, d) for each of ``queries`` (q, d).

    Both may be memory maps of any numbers: a block at a time is read. ``within`` one set, the query at a place does not
    find the reference at the same place. A row that holds anything but finite numbers has no neighbors and is none;
    nor is one that is not ``usable`` (n,). Neighbors are chosen by inner products in single precision, eight more than
    asked for, and then measured and ordered in double precision: only a reference that misses by a rounding of these
    products may be left out for another just as near.
    """
    _check(queries, references, k, within, usable)
    shift = _shift(references) if metric is Metric.EUCLIDEAN else np.zeros(queries.shape[1], dtype=np.float32)
    parts = -(-len(queries) // _at_once(queries.shape[1]))
    bounds = np.linspace(0, len(queries), parts + 1).astype(int)
    kept = min(k + _SPARE, len(references))
    found = Nearest(
        np.full((len(queries), k), -1, dtype=np.int64), np.full((len(queries), k), np.nan, dtype=np.float64)
    )
    for part in watch(range(parts if kept else 0)):
        rows = slice(bounds[part], bounds[part + 1])
        chosen, sound = _prepared(queries[rows], shift, metric)
        chosen[:, -1] = 1
        best = Best(len(chosen), kept)
        searcher = _searcher(engine, chosen, int(bounds[part]) if within else None)
        _look_through(searcher, references, best, usable=usable, shift=shift, metric=metric)
        best.indices[~sound] = -1
        indices, distances = _in_order(queries[rows], references, best.indices, metric)
        found.indices[rows, :kept], found.distances[rows, :kept] = indices[:, :k], distances[:, :k]
    return found


def _look_through(
    searcher: Searcher,
    references: Rows,
    best: Best,
    *,
    usable: BoolArray | None,
    shift: FloatArray,
    metric: Metric,
) -> None:
    for start in range(0, len(references), searcher.rows):
        rows = slice(start, start + searcher.rows)
        block, sound = _prepared(references[rows], shift, metric)
        if usable is not None:
            sound = sound & usable[rows]
        block[~sound, -1] = 2 * NEVER
        searcher.look_through(block, start, best)
    best.settle()


def _searcher(engine: NeighborEngine, queries: FloatArray, own: int | None) -> Searcher:
    if engine is NeighborEngine.NUMPY:
        return NumpySearcher(queries, own)
    if engine is NeighborEngine.FAISS:
        from regrade.neighbors.faiss_search import FaissSearcher

        return FaissSearcher(queries, own)
    from regrade.neighbors.torch_search import TorchSearcher

    return TorchSearcher(queries, own, device="cuda" if engine is NeighborEngine.CUDA else "cpu")


def _at_once(width: int) -> int:
    return max(min(_QUERIES, _NUMBERS // max(width, 1)), 1)


def _shift(references: Rows) -> FloatArray:
    """Where the numbers lie: without it, what is near would be the small difference of large numbers."""
    some = np.asarray(references[: NumpySearcher.rows], dtype=np.float32)
    usable = np.isfinite(some).all(axis=1)
    return some[usable].mean(axis=0) if usable.any() else np.zeros(references.shape[1], dtype=np.float32)


def _prepared(rows: Rows, shift: FloatArray, metric: Metric) -> tuple[FloatArray, BoolArray]:
    """Rows in single precision, moved or brought to length 1, and which of them can be used; the others are zero.

    The last column is what a row's score is lowered by, half its square: the product then does so along the way.
    """
    single = np.zeros((len(rows), rows.shape[1] + 1), dtype=np.float32)
    values = single[:, :-1]
    with np.errstate(invalid="ignore", over="ignore"):
        np.subtract(np.asarray(rows, dtype=np.float32), shift, out=values)
        halves = np.einsum("ij,ij->i", values, values) / 2
        usable = np.isfinite(halves)
        if metric is Metric.COSINE:
            usable &= halves > 0
            values /= np.where(usable, np.sqrt(2 * halves), 1)[:, None]
        else:
            single[:, -1] = -halves
    values[~usable] = 0
    return single, usable


def _in_order(queries: Rows, references: Rows, indices: IntArray, metric: Metric) -> tuple[IntArray, FloatArray]:
    """The chosen references in the order of their distances, measured in double precision."""
    indices = np.sort(indices, axis=1)
    step = max(_MEASURED // max(indices.shape[1] * queries.shape[1], 1), 1)
    parts = [slice(start, start + step) for start in range(0, len(queries), step)]
    measured = on_all_cores(lambda part: _measured(queries[part], references, indices[part], metric), parts)
    distances = np.concatenate([np.zeros((0, indices.shape[1])), *measured])
    order = np.argsort(distances, axis=1, kind="stable")
    indices, distances = np.take_along_axis(indices, order, 1), np.take_along_axis(distances, order, 1)
    return indices, np.where(indices < 0, np.nan, distances)


def _measured(queries: Rows, references: Rows, indices: IntArray, metric: Metric) -> FloatArray:
    there = np.maximum(indices, 0)
    with np.errstate(invalid="ignore", over="ignore"):  # rows that are no numbers have no neighbors
        between = _doubled(references[there.ravel()], metric).reshape(*there.shape, queries.shape[1])
        between -= _doubled(queries, metric)[:, None, :]
        squares = np.einsum("qkd,qkd->qk", between, between)
    return np.where(indices < 0, np.inf, squares if metric is Metric.EUCLIDEAN else squares / 2)


def _doubled(rows: Rows, metric: Metric) -> FloatArray:
    double = np.array(rows, dtype=np.float64)
    if metric is Metric.EUCLIDEAN:
        return double
    lengths = np.linalg.norm(double, axis=1, keepdims=True)
    return double / np.where(lengths > 0, lengths, 1)


def _check(queries: Rows, references: Rows, k: int, within: bool, usable: BoolArray | None) -> None:
    if queries.ndim != 2 or references.ndim != 2 or queries.shape[1] != references.shape[1]:
        raise InputError(f"queries {queries.shape} and references {references.shape} must be rows of equal length")
    if k < 1:
        raise InputError(f"at least one neighbor must be asked for, got k = {k}")
    if within and len(queries) != len(references):
        raise InputError(f"within one set there are as many queries as references, got {queries.shape[0]} of them")
    if usable is not None and usable.shape != (len(references),):
        raise InputError(f"usable must say of each of {len(references)} references whether it is")
