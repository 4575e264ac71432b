"""Print the two tables of benchmarks/README.md: false claims, and coverage of intervals.

python -m benchmarks.calibration
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np

from benchmarks.calibration import COVERAGE_CHECKS, DRAWS, NULL_CHECKS, RUNS
from regrade.core import Column, Table
from regrade.display import to_markdown

_Check = TypeVar("_Check")


def main() -> None:
    rng = np.random.default_rng(0)
    for table in (_false_claims(rng), _coverage(rng)):
        print(to_markdown(table))


def _false_claims(rng: np.random.Generator) -> Table:
    rows = []
    for check in _watched(NULL_CHECKS):
        stated = check.false_claims(RUNS, rng)
        rows += [(kind, check.case, f"{100 * count / RUNS:.1f}") for kind, count in stated.items()]
    columns = (Column("kind", "finding"), Column("case", "data in which it is false"), Column("stated", "stated, %"))
    return Table(f"False claims in {RUNS:,} runs each", columns, tuple(rows))


def _coverage(rng: np.random.Generator) -> Table:
    rows = []
    for check in _watched(COVERAGE_CHECKS):
        drawn = check.draw(rng, DRAWS)
        baseline = (
            ("–", "–") if drawn.baseline_coverage is None else (drawn.baseline_name, f"{drawn.baseline_coverage:.3f}")
        )
        width = "–" if drawn.width_ratio is None else f"{drawn.width_ratio:.2f}"
        rows.append((check.interval, check.case, f"{check.n:,}", f"{drawn.coverage:.3f}", *baseline, width))
    headings = ("interval", "data", "n", "covers", "baseline", "baseline covers", "width, baseline = 1")
    columns = tuple(Column(heading, heading) for heading in headings)
    return Table(f"Coverage of 95% intervals in {DRAWS:,} draws each", columns, tuple(rows))


def _watched(checks: Sequence[_Check]) -> Iterator[_Check]:
    for number, check in enumerate(checks, start=1):
        print(f"\r{number} of {len(checks)}", end="", file=sys.stderr, flush=True)
        yield check


if __name__ == "__main__":
    main()
