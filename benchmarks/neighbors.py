"""Exact nearest neighbors against faiss: 5,000 queries, 200,000 references, 512 numbers each."""

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
_AIM = 1 / 1.2


@dataclass(frozen=True)
class _Cost:
    """What a search costs: seconds on the clock, and seconds of all cores together."""

    wall: float
    processor: float


def run() -> Iterator[Result]:
    """Squared Euclidean distance and cosine; on a machine that does other things too, processor time says more."""
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
    found: list[Nearest] = []
    rival: list[np.ndarray] = []

    def ours() -> None:
        found[:] = [nearest(queries, references, k=_K, metric=metric)]

    def by_faiss() -> None:
        rival[:] = [faiss.knn(queries, references, _K, metric=theirs)[1]]

    own, other = _costs(ours, by_faiss)
    same = float((found[0].indices == rival[0]).mean())
    verify(same > 0.999, f"both find the same neighbors ({100 * same:.3f}%, the others are equally near)")
    case = f"{name}, {_QUERIES:,} x {_REFERENCES:,} x {_WIDTH}"
    yield Result("neighbors", case, "s", own.wall, other.wall, "faiss.knn", aim_ratio=_AIM)
    yield Result("neighbors", f"{case}, processor", "s", own.processor, other.processor, "faiss.knn", aim_ratio=_AIM)


def _costs(*works: Callable[[], None]) -> list[_Cost]:
    """The least that each piece of work costs, over rounds that do all of them in turn."""
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
