"""Nearest neighbors by torch, on the processor or on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from regrade.core import InputError, MissingExtra
from regrade.core.arrays import FloatArray
from regrade.neighbors.engines import Searcher
from regrade.neighbors.top_scores import NEVER, Best


class TorchSearcher(Searcher):
    """As the numpy searcher, with the scores on a device; only what beats its bar comes back."""

    def __init__(self, queries: FloatArray, own: int | None = None, *, device: str = "cpu") -> None:
        super().__init__(queries, own)
        torch = _torch()
        if device == "cuda" and not torch.cuda.is_available():
            raise InputError(f"torch {torch.__version__} finds no GPU here: search with another engine")
        self.device = device
        self.rows = 1 << 15 if device == "cuda" else 1 << 10
        self._there = torch.from_numpy(queries).to(device)

    def look_through(self, block: FloatArray, start: int, best: Best) -> None:
        """Take a block's candidates."""
        torch = _torch()
        with torch.inference_mode(), _FullPrecision():
            scores = self._there @ self._moved(block).T
            queries, columns = self.own_places(start, len(block))
            scores[self._moved(queries), self._moved(columns)] = float(NEVER)
            bar = self._bar(scores, best)
            rows = torch.nonzero(scores.amax(dim=1) > bar).ravel()
            above, places = torch.nonzero(scores[rows] > bar[rows, None], as_tuple=True)
            found = rows[above]
            values = scores[found, places]
            parts = [part.cpu().numpy() for part in (found, places, values)]
        best.add(parts[0], parts[1] + start, parts[2])

    def _bar(self, scores: Any, best: Best) -> Any:
        """What a score must exceed: the worst of the best, or just below the best of a first block."""
        torch = _torch()
        if not best.filling or scores.shape[1] <= best.k:
            return self._moved(best.bar)
        lowest = torch.topk(scores, best.k, dim=1).values[:, -1]
        return torch.nextafter(lowest, torch.full_like(lowest, -np.inf)).clamp(min=float(NEVER))

    def _moved(self, values: Any) -> Any:
        return _torch().from_numpy(np.require(values, requirements=["C", "W"])).to(self.device)


class _FullPrecision:
    """Keep products in single precision, whatever was set: ten bits would choose other neighbors."""

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
