"""Exact nearest neighbors on a GPU, compared with plain torch there and, if it is installed, with faiss for GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch

from benchmarks.gpu_confusion import waited
from benchmarks.measure import seconds
from benchmarks.result import Result, verify
from regrade.neighbors import Metric, NeighborEngine, nearest
from regrade.neighbors.gpu_search import GpuReferences

DEVICE = "cuda"
QUERIES, REFERENCES, WIDTH, K = 50_000, 1_281_167, 512, 10
COMPARED = 2_000, 100_000  # queries and references of which the CPU finds the neighbors too
_AT_ONCE = 2_048  # queries of the plain search


def run() -> Iterator[Result]:
    few = [np.random.default_rng(seed).standard_normal((n, WIDTH), dtype=np.float32) for seed, n in enumerate(COMPARED)]
    for metric in Metric:
        on_cpu, on_gpu = (
            nearest(*few, k=K, metric=metric, engine=engine) for engine in (NeighborEngine.NUMPY, NeighborEngine.CUDA)
        )
        verify(bool((on_cpu.indices == on_gpu.indices).all()), f"neighbors by {metric.value} are those of the CPU")
    queries, rows = (torch.randn((n, WIDTH), device=DEVICE) for n in (QUERIES, REFERENCES))
    references = GpuReferences(rows, shift=np.zeros(WIDTH, dtype=np.float32), cosine=False, device=DEVICE)
    torch.set_float32_matmul_precision("high")  # the plain search may use TF32
    same = (references.search(queries, K, kept=K + 8).indices[:, :K] == plain(queries, rows)).float().mean()
    verify(float(same) > 0.95, f"TF32 finds mostly the same neighbors in the same order ({100 * float(same):.1f}%)")
    ours, by_hand = seconds(
        lambda: waited(references.search(queries, K, kept=K + 8)), lambda: waited(plain(queries, rows)), rounds=3
    )
    case = f"neighbors, {QUERIES:,} x {REFERENCES:,} x {WIDTH}, references on the GPU"
    yield Result("gpu", case, "s", ours, by_hand, "plain torch, TF32", aim_ratio=4)
    yield Result("gpu", case, "s", ours, aim_most=0.6)
    if find_spec("faiss") and hasattr(import_module("faiss"), "StandardGpuResources"):
        yield Result("gpu", case, "s", ours, by_faiss(queries, rows), "faiss on the GPU", aim_ratio=1)


def plain(queries: Any, rows: Any) -> Any:
    """As one writes it by hand."""
    squares = rows.square().sum(dim=1)
    parts = []
    for start in range(0, len(queries), _AT_ONCE):
        distances = squares - 2 * (queries[start : start + _AT_ONCE] @ rows.T)
        parts.append(distances.topk(K, largest=False).indices)
    return torch.cat(parts)


def by_faiss(queries: Any, rows: Any) -> float:
    faiss = import_module("faiss")
    index = faiss.GpuIndexFlatL2(faiss.StandardGpuResources(), WIDTH)
    index.add(rows.cpu().numpy())
    host = queries.cpu().numpy()
    return seconds(lambda: index.search(host, K))[0]
