"""The highest scores of every query so far, while references are searched block by block."""

from __future__ import annotations

import numpy as np

from regrade.core.arrays import FloatArray, IntArray

EXCLUDED = np.float32(-1e38)
"""The score of references that must not be found; every real score is higher."""

_BUFFERED = 1 << 16  # candidates that are collected before they are sorted in


class TopScores:
    """The ``k`` highest scores of each query; of equal scores, those with the lower indices.

    References come in ascending order, so a later one with an equal score never replaces an earlier one.
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
        """Add candidates (c,): the query, the reference and the score of each."""
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
        order = np.lexsort((indices, -scores, rows))
        starts = np.cumsum(counts + self.k) - counts - self.k
        chosen = order[starts[:, None] + np.arange(self.k)]
        self.scores[touched], self.indices[touched] = scores[chosen], indices[chosen]
