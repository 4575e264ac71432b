"""Prediction, neighbors, confusion scores and training on a GPU; skipped without CUDA."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks import gpu_confusion, gpu_predict, gpu_search, gpu_train
from benchmarks.result import Result
from regrade.models import gpu_names


def run() -> Iterator[Result]:
    if not gpu_names():
        print("  skipped: no CUDA device")
        return
    for benchmark in (gpu_predict, gpu_search, gpu_confusion, gpu_train):
        yield from benchmark.run()
