"""Exact nearest neighbors compared with faiss: 5,000 queries, 200,000 references, 512 dimensions."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

import numpy as np

from benchmarks.result import Result, verify
from regrade.neighbors import Metric, Nearest, nearest

_QUERIES, _REFERENCES, _WIDTH, _K = 5_000, 200_000, 512, 10
_ROUNDS = 2
_AIM = 1


@dataclass(frozen=True)
class _Cost:
    """The cost of a search: wall-clock seconds, and CPU seconds of all cores."""

    wall: float
    processor: float


def run() -> Iterator[Result]:
    """Squared Euclidean distance and cosine; on a busy machine, CPU time is more reliable."""
    if find_spec("faiss") is None:
        print("  skipped: faiss is not installed (pip install 'regrade[faiss]')")
        return
    faiss = import_module("faiss")
    rng = np.random.default_rng(0)
    queries, references = (rng.standard_normal((n, _WIDTH), dtype=np.float32) for n in (_QUERIES, _REFERENCES))
    yield from _compared("squared Euclidean", queries, references, Metric.EUCLIDEAN, faiss.METRIC_L2)
    queries, references = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (queries, references))
    yield from _compared("cosine", queries, references, Metric.COSINE, faiss.METRIC_INNER_PRODUCT)


def _compared(name: str, queries: np.ndarray, references: np.ndarray, metric: Metric, theirs: int) -> Iterator[Result]:
    faiss = import_module("faiss")
    ours_result: list[Nearest] = []
    baseline: list[np.ndarray] = []

    def ours() -> None:
        ours_result[:] = [nearest(queries, references, k=_K, metric=metric)]

    def by_faiss() -> None:
        baseline[:] = [faiss.knn(queries, references, _K, metric=theirs)[1]]

    our_cost, faiss_cost = _costs(ours, by_faiss)
    same = float((ours_result[0].indices == baseline[0]).mean())
    verify(same > 0.999, f"both find the same neighbors ({100 * same:.3f}%, the others are equally near)")
    case = f"{name}, {_QUERIES:,} x {_REFERENCES:,} x {_WIDTH}"
    yield Result("neighbors", case, "s", our_cost.wall, faiss_cost.wall, "faiss.knn", aim_ratio=_AIM)
    yield Result(
        "neighbors", f"{case}, processor", "s", our_cost.processor, faiss_cost.processor, "faiss.knn", aim_ratio=_AIM
    )


def _costs(*works: Callable[[], None]) -> list[_Cost]:
    """The minimum cost of each function, over rounds that run all of them in turn."""
    best = [_Cost(float("inf"), float("inf"))] * len(works)
    for _ in range(_ROUNDS):
        for i, work in enumerate(works):
            start, before = time.perf_counter(), _processor()
            work()
            spent = _Cost(time.perf_counter() - start, _processor() - before)
            best[i] = _Cost(min(best[i].wall, spent.wall), min(best[i].processor, spent.processor))
    return best


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
