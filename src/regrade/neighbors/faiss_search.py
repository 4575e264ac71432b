"""Nearest neighbors by faiss."""

from __future__ import annotations

from typing import Any

import numpy as np

from regrade.core import MissingExtra
from regrade.core.arrays import FloatArray
from regrade.neighbors.engines import Searcher
from regrade.neighbors.top_scores import NEVER, Best


class FaissSearcher(Searcher):
    """The exact search of faiss over one block after another."""

    rows = 1 << 16

    def __init__(self, queries: FloatArray, own: int | None = None) -> None:
        super().__init__(queries, own)
        self._faiss = _faiss()

    def look_through(self, block: FloatArray, start: int, best: Best) -> None:
        """Take a block's candidates."""
        k = min(best.k + (self.own is not None), len(block))
        scores, columns = self._faiss.knn(self.queries, block, k, metric=self._faiss.METRIC_INNER_PRODUCT)
        indices = columns + start
        found = (columns >= 0) & (scores > NEVER)
        if self.own is not None:
            found &= indices != (np.arange(len(indices)) + self.own)[:, None]
        rows, places = np.nonzero(found)
        best.add(rows, indices[rows, places], scores[rows, places])


def _faiss() -> Any:
    try:
        import faiss
    except ModuleNotFoundError as error:
        raise MissingExtra("searching with faiss", "faiss") from error
    return faiss
