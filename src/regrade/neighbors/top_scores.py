"""The best so far of every query, while references go by block after block."""

from __future__ import annotations

import numpy as np

from regrade.core.arrays import FloatArray, IntArray

NEVER = np.float32(-1e38)
"""The score of what is never to be found; every real one is higher."""

_WAITING = 1 << 16  # candidates that wait before they are sorted in


class Best:
    """The ``k`` highest scores of each of some queries; of equal ones those with the lower indices.

    References come in ascending order, so that a later one with an equal score never goes before an earlier one.
    """

    def __init__(self, queries: int, k: int) -> None:
        self.k = k
        self.scores = np.full((queries, k), NEVER, dtype=np.float32)
        self.indices = np.full((queries, k), -1, dtype=np.int64)
        self._waiting: list[tuple[IntArray, IntArray, FloatArray]] = []
        self._count = 0

    @property
    def bar(self) -> FloatArray:
        """Shape (queries,): the score that a candidate must exceed, as far as it is known by now."""
        return self.scores[:, -1]

    @property
    def filling(self) -> bool:
        """Whether some query has not found ``k`` references yet."""
        return bool((self.bar <= NEVER).any())

    def add(self, rows: IntArray, indices: IntArray, scores: FloatArray) -> None:
        """Take in candidates (c,): the query, the reference and the score of each."""
        self._waiting.append((rows, indices, scores))
        self._count += len(rows)
        if self._count >= _WAITING or self.filling:
            self.settle()

    def settle(self) -> None:
        """Sort in what waits, which raises the bar."""
        if not self._count:
            return
        rows, indices, scores = (np.concatenate(parts) for parts in zip(*self._waiting, strict=True))
        self._waiting, self._count = [], 0
        touched, counts = np.unique(rows, return_counts=True)
        rows = np.concatenate([np.repeat(touched, self.k), rows])
        indices = np.concatenate([self.indices[touched].ravel(), indices])
        scores = np.concatenate([self.scores[touched].ravel(), scores])
        order = np.lexsort((indices, -scores, rows))
        starts = np.cumsum(counts + self.k) - counts - self.k
        chosen = order[starts[:, None] + np.arange(self.k)]
        self.scores[touched], self.indices[touched] = scores[chosen], indices[chosen]
