"""Nearest-neighbor search by torch, on the CPU or on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from regrade.core import InputError, MissingExtra
from regrade.core.arrays import FloatArray
from regrade.neighbors.engines import EXCLUDED, Searcher, TopScores


class TorchSearcher(Searcher):
    """As the numpy searcher, with the scores on a device; only scores above the minimum are copied back."""

    def __init__(self, queries: FloatArray, offset: int | None = None, *, device: str = "cpu") -> None:
        super().__init__(queries, offset)
        torch = _torch()
        if device == "cuda" and not torch.cuda.is_available():
            raise InputError(f"torch {torch.__version__} finds no GPU: search with another engine")
        self.device = device
        self.block_rows = 1 << 15 if device == "cuda" else 1 << 10
        self._queries = torch.from_numpy(queries).to(device)

    def search_block(self, block: FloatArray, start: int, top: TopScores) -> None:
        """Add the candidates of a block."""
        torch = _torch()
        with torch.inference_mode(), _FullPrecision():
            scores = self._queries @ self._on_device(block).T
            queries, columns = self.self_matches(start, len(block))
            scores[self._on_device(queries), self._on_device(columns)] = float(EXCLUDED)
            minimum = self._minimum(scores, top)
            rows = torch.nonzero(scores.amax(dim=1) > minimum).ravel()
            above, matching_columns = torch.nonzero(scores[rows] > minimum[rows, None], as_tuple=True)
            matching_rows = rows[above]
            values = scores[matching_rows, matching_columns]
            parts = [part.cpu().numpy() for part in (matching_rows, matching_columns, values)]
        top.add(parts[0], parts[1] + start, parts[2])

    def _minimum(self, scores: Any, top: TopScores) -> Any:
        """The score to exceed: the lowest of the top scores, or just below the top of a first block."""
        torch = _torch()
        if not top.filling or scores.shape[1] <= top.k:
            return self._on_device(top.minimum)
        lowest = torch.topk(scores, top.k, dim=1).values[:, -1]
        return torch.nextafter(lowest, torch.full_like(lowest, -np.inf)).clamp(min=float(EXCLUDED))

    def _on_device(self, values: Any) -> Any:
        return _torch().from_numpy(np.require(values, requirements=["C", "W"])).to(self.device)


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
