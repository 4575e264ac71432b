"""Exact nearest neighbors: every query is compared with every reference, in blocks that fit into the cache."""

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
from regrade.neighbors.engines import (
    EXCLUDED,
    FaissSearcher,
    NeighborEngine,
    NumpySearcher,
    Searcher,
    TopScores,
    TorchSearcher,
)
from regrade.neighbors.gpu_search import nearest_on_gpu

Rows = NDArray[Any]
"""Vectors (n, d), often a memory map."""

ProgressCallback = Callable[[Sequence[int]], Iterable[int]]
"""Iterates over numbers and shows the progress."""

_SPARE = 8  # extra neighbors selected in single precision; all are then sorted in double precision
_QUERIES = 8192  # at a time
_QUERY_VALUES = 1 << 24  # numbers of the queries at a time: 64 MB
_MEASURED_VALUES = 1 << 18  # numbers measured in double precision at a time: they stay in the cache


class Metric(Enum):
    """The distance of two vectors."""

    EUCLIDEAN = "squared euclidean"
    COSINE = "cosine"
    """1 - cosine of the angle; a zero vector has no angle and no neighbors."""


@dataclass(frozen=True, eq=False)
class Nearest:
    """The nearest references of each query, nearest first; of equally near ones, the lower index first.

    If there are fewer than k, ``indices`` (q, k) are -1 and ``distances`` (q, k) NaN.
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
    progress: ProgressCallback = iter,
) -> Nearest:
    """Find the ``k`` nearest of ``references`` (n, d) for each of ``queries`` (q, d).

    Both may be memory maps of any numeric type, which are read block by block. With ``within``, both are the same set,
    and a query does not match itself. Rows with values that are not finite neither have neighbors nor are neighbors;
    references that are not ``usable`` (n,) are not neighbors. Candidates are selected by inner products in single
    precision, eight more than ``k``, and then measured and sorted in double precision: only rounding errors of these
    products can replace a neighbor by another at the same distance. On a GPU, products in half precision come before
    these, with a bound of their error.
    """
    _check(queries, references, k, within, usable)
    shift = _shift(references) if metric is Metric.EUCLIDEAN else np.zeros(queries.shape[1], dtype=np.float32)
    if engine is NeighborEngine.CUDA and len(references):
        indices, distances = nearest_on_gpu(
            queries, references, k=k, kept=min(k + _SPARE, len(references)), shift=shift,
            cosine=metric is Metric.COSINE, within=within, usable=usable, progress=progress,
        )  # fmt: skip
        return Nearest(indices, distances)
    parts = -(-len(queries) // _queries_at_once(queries.shape[1]))
    bounds = np.linspace(0, len(queries), parts + 1).astype(int)
    kept = min(k + _SPARE, len(references))
    result = Nearest(
        np.full((len(queries), k), -1, dtype=np.int64), np.full((len(queries), k), np.nan, dtype=np.float64)
    )
    for part in progress(range(parts if kept else 0)):
        rows = slice(bounds[part], bounds[part + 1])
        prepared, valid = _prepared(queries[rows], shift, metric)
        prepared[:, -1] = 1
        top = TopScores(len(prepared), kept)
        searcher = _searcher(engine, prepared, int(bounds[part]) if within else None)
        _search_blocks(searcher, references, top, usable=usable, shift=shift, metric=metric)
        top.indices[~valid] = -1
        indices, distances = _in_order(queries[rows], references, top.indices, metric)
        result.indices[rows, :kept], result.distances[rows, :kept] = indices[:, :k], distances[:, :k]
    return result


def _search_blocks(
    searcher: Searcher,
    references: Rows,
    top: TopScores,
    *,
    usable: BoolArray | None,
    shift: FloatArray,
    metric: Metric,
) -> None:
    for start in range(0, len(references), searcher.block_rows):
        rows = slice(start, start + searcher.block_rows)
        block, valid = _prepared(references[rows], shift, metric)
        if usable is not None:
            valid = valid & usable[rows]
        block[~valid, -1] = 2 * EXCLUDED
        searcher.search_block(block, start, top)
    top.flush()


def _searcher(engine: NeighborEngine, queries: FloatArray, offset: int | None) -> Searcher:
    if engine is NeighborEngine.NUMPY:
        return NumpySearcher(queries, offset)
    if engine is NeighborEngine.FAISS:
        return FaissSearcher(queries, offset)
    return TorchSearcher(queries, offset)


def _queries_at_once(width: int) -> int:
    return max(min(_QUERIES, _QUERY_VALUES // max(width, 1)), 1)


def _shift(references: Rows) -> FloatArray:
    """The mean of some references: without the shift, small distances would be differences of large numbers."""
    sample = np.asarray(references[: NumpySearcher.block_rows], dtype=np.float32)
    usable = np.isfinite(sample).all(axis=1)
    return sample[usable].mean(axis=0) if usable.any() else np.zeros(references.shape[1], dtype=np.float32)


def _prepared(rows: Rows, shift: FloatArray, metric: Metric) -> tuple[FloatArray, BoolArray]:
    """Rows in single precision, shifted or scaled to length 1, and which of them can be used; the others are zero.

    The last column is subtracted from a row's score by the matrix product: half its squared length.
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
    """The selected references sorted by their distances, measured in double precision."""
    indices = np.sort(indices, axis=1)
    step = max(_MEASURED_VALUES // max(indices.shape[1] * queries.shape[1], 1), 1)
    parts = [slice(start, start + step) for start in range(0, len(queries), step)]
    measured = on_all_cores(lambda part: _measured(queries[part], references, indices[part], metric), parts)
    distances = np.concatenate([np.zeros((0, indices.shape[1])), *measured])
    order = np.argsort(distances, axis=1, kind="stable")
    indices, distances = np.take_along_axis(indices, order, 1), np.take_along_axis(distances, order, 1)
    return indices, np.where(indices < 0, np.nan, distances)


def _measured(queries: Rows, references: Rows, indices: IntArray, metric: Metric) -> FloatArray:
    selected = np.maximum(indices, 0)
    with np.errstate(invalid="ignore", over="ignore"):  # rows that are not finite have no neighbors
        differences = _in_double_precision(references[selected.ravel()], metric)
        differences = differences.reshape(*selected.shape, queries.shape[1])
        differences -= _in_double_precision(queries, metric)[:, None, :]
        squares = np.einsum("qkd,qkd->qk", differences, differences)
    return np.where(indices < 0, np.inf, squares if metric is Metric.EUCLIDEAN else squares / 2)


def _in_double_precision(rows: Rows, metric: Metric) -> FloatArray:
    double = np.array(rows, dtype=np.float64)
    if metric is Metric.EUCLIDEAN:
        return double
    lengths = np.linalg.norm(double, axis=1, keepdims=True)
    return double / np.where(lengths > 0, lengths, 1)


def _check(queries: Rows, references: Rows, k: int, within: bool, usable: BoolArray | None) -> None:
    if queries.ndim != 2 or references.ndim != 2 or queries.shape[1] != references.shape[1]:
        raise InputError(f"queries {queries.shape} and references {references.shape} must be rows of equal length")
    if k < 1:
        raise InputError(f"k must be at least 1, got {k}")
    if within and len(queries) != len(references):
        raise InputError(
            f"within one set, queries and references are the same, got {len(queries)} and {len(references)}"
        )
    if usable is not None and usable.shape != (len(references),):
        raise InputError(f"usable must have one value for each of {len(references)} references")
