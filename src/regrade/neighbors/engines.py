"""What holds queries against references: an engine names it, a searcher does it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum

import numpy as np

from regrade.core.arrays import FloatArray, IntArray
from regrade.neighbors.top_scores import NEVER, Best


class NeighborEngine(Enum):
    """What searches for nearest neighbors; all of them find the same ones."""

    NUMPY = "numpy"
    """Products on all cores by numpy; needs nothing more."""
    TORCH = "torch"
    """The same by torch on the processor."""
    CUDA = "cuda"
    """The same by torch on a GPU."""
    FAISS = "faiss"
    """The exact search of faiss."""


class Searcher(ABC):
    """Holds some queries (q, d) against one block of references after another.

    The score of a reference is its inner product with the query; one at `NEVER` or below is never found. ``own`` is the
    place of the first query among the references where both are one set: a query does not find itself.
    """

    rows: int
    """References a block."""

    def __init__(self, queries: FloatArray, own: int | None = None) -> None:
        self.queries = queries
        self.own = own

    @abstractmethod
    def look_through(self, block: FloatArray, start: int, best: Best) -> None:
        """Take the candidates of a block (b, d) into ``best``; ``start`` is the index of its first reference."""

    def own_places(self, start: int, rows: int) -> tuple[IntArray, IntArray]:
        """Queries and columns of a block that are the same reference."""
        if self.own is None:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        inside = np.arange(max(self.own, start), min(self.own + len(self.queries), start + rows))
        return inside - self.own, inside - start


class NumpySearcher(Searcher):
    """One product a block, and one look at each row's highest score: only rows that beat their bar are read again."""

    rows = 1024  # the scores of a few thousand queries stay in the cache

    def __init__(self, queries: FloatArray, own: int | None = None) -> None:
        super().__init__(queries, own)
        self._scores = np.empty((len(queries), self.rows), dtype=np.float32)

    def look_through(self, block: FloatArray, start: int, best: Best) -> None:
        """Take a block's candidates."""
        scores = self._scores[:, : len(block)]
        np.matmul(self.queries, block.T, out=scores)
        scores[self.own_places(start, len(block))] = NEVER
        bar = best.bar
        if best.filling and len(block) > best.k:
            lowest = np.partition(scores, -best.k, axis=1)[:, -best.k]
            bar = np.maximum(np.nextafter(lowest, np.float32(-np.inf)), NEVER)
        rows = np.flatnonzero(scores.max(axis=1) > bar)
        best.add(*_above(scores[rows], rows, bar[rows], start))


def _above(scores: FloatArray, rows: IntArray, bar: FloatArray, start: int) -> tuple[IntArray, IntArray, FloatArray]:
    """All scores of some rows that exceed their bars, the highest of each row at a time: there are few in any."""
    found = [(rows[:0], rows[:0], bar[:0])]
    while len(rows):
        columns = scores.argmax(axis=1)
        highest = scores[np.arange(len(rows)), columns]
        scores[np.arange(len(rows)), columns] = NEVER
        left = highest > bar
        found.append((rows[left], columns[left] + start, highest[left]))
        if not left.all():
            rows, scores, bar = rows[left], scores[left], bar[left]
    queries, references, values = zip(*found, strict=True)
    return np.concatenate(queries), np.concatenate(references), np.concatenate(values)
