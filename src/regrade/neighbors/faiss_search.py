"""Nearest-neighbor search by faiss."""

from __future__ import annotations

from typing import Any

import numpy as np

from regrade.core import MissingExtra
from regrade.core.arrays import FloatArray
from regrade.neighbors.engines import EXCLUDED, Searcher, TopScores


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
