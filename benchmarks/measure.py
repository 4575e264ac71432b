"""Measure time and memory, in alternating rounds so that other load affects ours and the baseline equally."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

_LAUNCHER = Path(__file__).with_name("launch.py")


def seconds(*works: Callable[[], object], rounds: int = 3) -> list[float]:
    """The minimum seconds of each function, over rounds that run all of them in turn."""
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for i, work in enumerate(works):
            start = time.perf_counter()
            work()
            best[i] = min(best[i], time.perf_counter() - start)
    return best


@dataclass(frozen=True)
class Finished:
    """A finished command: its standard output, wall-clock and processor seconds, and peak memory in GB."""

    output: bytes
    seconds: float
    processor_seconds: float
    gigabytes: float


def command(arguments: Sequence[str | Path]) -> Finished:
    """Run and measure a command; a failing command stops the benchmarks with its message."""
    with tempfile.NamedTemporaryFile() as figures:
        launch = [sys.executable, str(_LAUNCHER), figures.name, *map(str, arguments)]
        done = subprocess.run(launch, capture_output=True, check=False)
        if done.returncode:
            raise SystemExit(f"{' '.join(map(str, arguments))} failed: {done.stderr.decode()}")
        taken, processor, peak = json.load(figures)
    return Finished(done.stdout, taken, processor, peak / 1e9)
