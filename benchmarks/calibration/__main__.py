"""Measure the two tables of benchmarks/README.md: false claims, and coverage of intervals.

python -m benchmarks.calibration [--missing] [--write]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.calibration import COVERAGE_CHECKS, DRAWS, NULL_CHECKS, RUNS, CoverageCheck, NullCheck

README = Path(__file__).parents[1] / "README.md"
FALSE_CLAIMS, COVERAGE = "### False claims", "### Coverage"
"""The beginnings of the headings above the tables."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__.splitlines()[0])
    parser.add_argument("--missing", action="store_true", help="only the rows that benchmarks/README.md lacks")
    parser.add_argument(
        "--write", action="store_true", help="write each row to benchmarks/README.md when it is measured"
    )
    chosen = parser.parse_args()
    checks = [(FALSE_CLAIMS, check) for check in NULL_CHECKS] + [(COVERAGE, check) for check in COVERAGE_CHECKS]
    if chosen.missing:
        text = README.read_text()
        checks = [(heading, check) for heading, check in checks if any(key not in text for key in keys_of(check))]
    rng = np.random.default_rng(0)
    for number, (heading, check) in enumerate(checks, start=1):
        print(f"\r{number} of {len(checks)}", end="", file=sys.stderr, flush=True)
        for row in _rows(check, rng):
            print(row, flush=True)
            if chosen.write:
                README.write_text(with_row(README.read_text(), heading, row))


def keys_of(check: NullCheck | CoverageCheck) -> Iterator[str]:
    """The first cells of a check's rows, which tell them from others."""
    if isinstance(check, CoverageCheck):
        yield f"| {check.interval} | {check.case} | {check.n:,} |"
    else:
        yield from (f"| {kind} | {check.case} |" for kind in check.kinds)


def with_row(text: str, heading: str, row: str) -> str:
    """The text with the row in the table below a heading: in place of the one with the same first cells, or last."""
    before, at, rest = text.partition(heading)
    lines = rest.split("\n")
    start = next(place for place, line in enumerate(lines) if line.startswith("| ---")) + 1
    end = next((place for place in range(start, len(lines)) if not lines[place].startswith("|")), len(lines))
    first_cells = 3 if heading == COVERAGE else 2
    key = row.split(" | ")[:first_cells]
    place = next((place for place in range(start, end) if lines[place].split(" | ")[:first_cells] == key), end)
    return before + at + "\n".join([*lines[:place], row, *lines[min(place + 1, end) :]])


def _rows(check: NullCheck | CoverageCheck, rng: np.random.Generator) -> Iterator[str]:
    if isinstance(check, NullCheck):
        stated = check.false_claims(RUNS, rng)
        yield from (
            f"{key} {100 * stated[kind] / RUNS:.1f} |" for key, kind in zip(keys_of(check), check.kinds, strict=True)
        )
        return
    drawn = check.draw(rng, DRAWS)
    baseline = "– | –" if drawn.baseline_coverage is None else f"{drawn.baseline_name} | {drawn.baseline_coverage:.3f}"
    width = "–" if drawn.width_ratio is None else f"{drawn.width_ratio:.2f}"
    yield from (f"{key} {drawn.coverage:.3f} | {baseline} | {width} |" for key in keys_of(check))


if __name__ == "__main__":
    main()
