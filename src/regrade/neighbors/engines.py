"""Engines of the nearest-neighbor search on the CPU: by numpy, by torch, and by faiss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Any

import numpy as np

from regrade.core import MissingExtra
from regrade.core.arrays import FloatArray, IntArray

EXCLUDED = np.float32(-1e38)
"""The score of references that must not be found; every real score is higher."""

_BUFFERED = 1 << 16  # candidates that are collected before they are sorted in


class NeighborEngine(Enum):
    """The implementation of the nearest-neighbor search; all give the same neighbors."""

    NUMPY = "numpy"
    """Matrix products by numpy on all CPU cores; needs no other library."""
    TORCH = "torch"
    """The same by torch on the CPU."""
    CUDA = "cuda"
    """On a GPU, see `regrade.neighbors.gpu_search`."""
    FAISS = "faiss"
    """The exact search of faiss."""


class Searcher(ABC):
    """Compares queries (q, d) with one block of references after another.

    The score of a reference is its inner product with the query; references at `EXCLUDED` or below are skipped.
    ``offset`` is the index of the first query among the references if both are the same set: a query does not match
    itself.
    """

    block_rows: int
    """References per block."""

    def __init__(self, queries: FloatArray, offset: int | None = None) -> None:
        self.queries = queries
        self.offset = offset

    @abstractmethod
    def search_block(self, block: FloatArray, start: int, top: TopScores) -> None:
        """Add the candidates of a block (b, d) to ``top``; ``start`` is the index of its first reference."""

    def self_matches(self, start: int, rows: int) -> tuple[IntArray, IntArray]:
        """Queries and columns of a block that are the same reference."""
        if self.offset is None:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        inside = np.arange(max(self.offset, start), min(self.offset + len(self.queries), start + rows))
        return inside - self.offset, inside - start


class NumpySearcher(Searcher):
    """One matrix product per block and tile of queries; only rows whose highest score exceeds their minimum are read.

    The scores of a tile stay in the cache.
    """

    block_rows = 1024
    tile_rows = 1024  # queries

    def __init__(self, queries: FloatArray, offset: int | None = None) -> None:
        super().__init__(queries, offset)
        self._scores = np.empty((min(len(queries), self.tile_rows), self.block_rows), dtype=np.float32)

    def search_block(self, block: FloatArray, start: int, top: TopScores) -> None:
        """Add the candidates of a block."""
        itself = np.full(len(self.queries), -1)
        queries, columns = self.self_matches(start, len(block))
        itself[queries] = columns
        for first in range(0, len(self.queries), self.tile_rows):
            tile = slice(first, first + self.tile_rows)
            own = np.flatnonzero(itself[tile] >= 0)
            scores = self._scores[: len(itself[tile]), : len(block)]
            np.matmul(self.queries[tile], block.T, out=scores)
            scores[own, itself[tile][own]] = EXCLUDED
            rows, columns, values = _above(scores, self._minimum(scores, top, tile))
            top.add(rows + first, columns + start, values)

    @staticmethod
    def _minimum(scores: FloatArray, top: TopScores, tile: slice) -> FloatArray:
        """The score to exceed: the lowest of the top scores, or just below the top of a first block."""
        if not top.filling or scores.shape[1] <= top.k:
            return top.minimum[tile]
        lowest = np.partition(scores, -top.k, axis=1)[:, -top.k]
        return np.maximum(np.nextafter(lowest, np.float32(-np.inf)), EXCLUDED)


def _above(scores: FloatArray, minimum: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """The row, the column and the value of each score (q, b) that exceeds the minimum (q,) of its row."""
    rows = np.flatnonzero(scores.max(axis=1) > minimum)
    read = scores[rows]
    places = np.flatnonzero(read > minimum[rows, None])
    above, columns = np.divmod(places, scores.shape[1])
    return rows[above], columns, read.ravel()[places]


class TopScores:
    """The ``k`` highest scores of each query; of equal scores, those with the lower indices.

    A query's references come in ascending order, so a later one with an equal score never replaces an earlier one.
    """

    def __init__(self, queries: int, k: int) -> None:
        self.k = k
        self.scores = np.full((queries, k), EXCLUDED, dtype=np.float32)
        self.indices = np.full((queries, k), -1, dtype=np.int64)
        self._buffer: list[tuple[IntArray, IntArray, FloatArray]] = []
        self._count = 0

    @property
    def minimum(self) -> FloatArray:
        """Shape (queries,): the score that a candidate must exceed, as of the last `flush`."""
        return self.scores[:, -1]

    @property
    def filling(self) -> bool:
        """Whether some query has not found ``k`` references yet."""
        return bool((self.minimum <= EXCLUDED).any())

    def add(self, rows: IntArray, indices: IntArray, scores: FloatArray) -> None:
        """Add candidates (c,): the query, the reference and the score of each; a query's references in rising order."""
        self._buffer.append((rows, indices, scores))
        self._count += len(rows)
        if self._count >= _BUFFERED or self.filling:
            self.flush()

    def flush(self) -> None:
        """Sort in the buffered candidates, which raises the minimum."""
        if not self._count:
            return
        rows, indices, scores = (np.concatenate(parts) for parts in zip(*self._buffer, strict=True))
        self._buffer, self._count = [], 0
        touched, counts = np.unique(rows, return_counts=True)
        rows = np.concatenate([np.repeat(touched, self.k), rows])
        indices = np.concatenate([self.indices[touched].ravel(), indices])
        scores = np.concatenate([self.scores[touched].ravel(), scores])
        order = _by_row_and_score(rows, scores)
        starts = np.cumsum(counts + self.k) - counts - self.k
        chosen = order[starts[:, None] + np.arange(self.k)]
        self.scores[touched], self.indices[touched] = scores[chosen], indices[chosen]


def _by_row_and_score(rows: IntArray, scores: FloatArray) -> IntArray:
    """The order by row and falling score, equal ones as they are; one sort of integers, faster than two of numbers."""
    bits = (scores + np.float32(0)).view(np.int32)  # plus 0: -0 becomes 0
    rising = bits ^ ((bits >> 31) & np.int32(0x7FFFFFFF))  # in the order of the numbers
    return np.argsort((rows << 32) - rising, kind="stable")


class TorchSearcher(Searcher):
    """As the numpy searcher, by torch."""

    block_rows = 1 << 10

    def __init__(self, queries: FloatArray, offset: int | None = None) -> None:
        super().__init__(queries, offset)
        self._queries = _torch().from_numpy(queries)

    def search_block(self, block: FloatArray, start: int, top: TopScores) -> None:
        """Add the candidates of a block."""
        torch = _torch()
        with torch.inference_mode(), _FullPrecision():
            scores = self._queries @ _tensor(block).T
            queries, columns = self.self_matches(start, len(block))
            scores[_tensor(queries), _tensor(columns)] = float(EXCLUDED)
            minimum = self._minimum(scores, top)
            rows = torch.nonzero(scores.amax(dim=1) > minimum).ravel()
            above, matching_columns = torch.nonzero(scores[rows] > minimum[rows, None], as_tuple=True)
            matching_rows = rows[above]
            values = scores[matching_rows, matching_columns]
            parts = [part.numpy() for part in (matching_rows, matching_columns, values)]
        top.add(parts[0], parts[1] + start, parts[2])

    def _minimum(self, scores: Any, top: TopScores) -> Any:
        """The score to exceed: the lowest of the top scores, or just below the top of a first block."""
        torch = _torch()
        if not top.filling or scores.shape[1] <= top.k:
            return _tensor(top.minimum)
        lowest = torch.topk(scores, top.k, dim=1).values[:, -1]
        return torch.nextafter(lowest, torch.full_like(lowest, -np.inf)).clamp(min=float(EXCLUDED))


def _tensor(values: Any) -> Any:
    return _torch().from_numpy(np.require(values, requirements=["C", "W"]))


class _FullPrecision:
    """Compute products in single precision, whatever was set: TF32 would select other neighbors."""

    def __enter__(self) -> None:
        self._before = _torch().get_float32_matmul_precision()
        _torch().set_float32_matmul_precision("highest")

    def __exit__(self, *_: object) -> None:
        _torch().set_float32_matmul_precision(self._before)


def _torch() -> Any:
    try:
        import torch
    except ModuleNotFoundError as error:
        raise MissingExtra("searching with torch", "torch") from error
    return torch


class FaissSearcher(Searcher):
    """The exact search of faiss over one block after another."""

    block_rows = 1 << 16

    def __init__(self, queries: FloatArray, offset: int | None = None) -> None:
        super().__init__(queries, offset)
        self._faiss = _faiss()

    def search_block(self, block: FloatArray, start: int, top: TopScores) -> None:
        """Add the candidates of a block."""
        k = min(top.k + (self.offset is not None), len(block))
        scores, columns = self._faiss.knn(self.queries, block, k, metric=self._faiss.METRIC_INNER_PRODUCT)
        rising = np.argsort(columns, axis=1)
        scores, columns = np.take_along_axis(scores, rising, 1), np.take_along_axis(columns, rising, 1)
        indices = columns + start
        valid = (columns >= 0) & (scores > EXCLUDED)
        if self.offset is not None:
            valid &= indices != (np.arange(len(indices)) + self.offset)[:, None]
        rows, ranks = np.nonzero(valid)
        top.add(rows, indices[rows, ranks], scores[rows, ranks])


def _faiss() -> Any:
    try:
        import faiss
    except ModuleNotFoundError as error:
        raise MissingExtra("searching with faiss", "faiss") from error
    return faiss
