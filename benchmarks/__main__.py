"""Run the named benchmarks (default: all).

python -m benchmarks [--json FILE] [NAME ...]
"""

from __future__ import annotations

import argparse
import compileall
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import regrade
from benchmarks.result import Result, as_table, write_json
from regrade.display import print_table

_NAMES = (
    "mcnemar", "line_fit", "intervals", "pack", "many_models", "scale", "predict", "studies", "neighbors", "confusion",
    "build", "train", "gpu", "report", "explore", "reviewers", "grids", "faults", "calibration",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Speed and memory compared with named baselines."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(_NAMES)} (default: all)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results here")
    chosen = parser.parse_args()
    if unknown := set(chosen.names) - set(_NAMES):
        parser.error(f"unknown benchmark {', '.join(sorted(unknown))}: choose from {', '.join(_NAMES)}")
    compileall.compile_dir(Path(regrade.__file__).parent, quiet=1)  # as pip does on installation
    results = []
    for name in chosen.names or _NAMES:
        for result in results_of(name):
            results.append(result)
            if chosen.json:
                write_json(results, chosen.json)
    print_table(as_table(results))


def results_of(name: str) -> Iterator[Result]:
    """Run one benchmark and print each result as soon as it is known."""
    module = import_module(f"benchmarks.{name}")
    print(f"{name}: {module.__doc__.splitlines()[0]}", flush=True)
    start = time.perf_counter()
    for result in module.run():
        print(f"  {result}", flush=True)
        yield result
    print(f"  took {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
