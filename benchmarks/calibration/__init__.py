"""How often false claims are stated, and how often intervals miss the truth.

Three parts: published predictions, split at random so that the halves differ only by chance; every kind of finding, on
data in which it is false; every interval, on data with known truth.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

import numpy as np

from benchmarks.calibration import splits
from benchmarks.calibration.checks import COVERAGE_CHECKS, NOMINAL, NULL_CHECKS, CoverageCheck, Drawn, NullCheck
from benchmarks.result import Result

__all__ = ["COVERAGE_CHECKS", "DRAWS", "NULL_CHECKS", "RUNS", "CoverageCheck", "Drawn", "NullCheck", "run"]

for _module in iter_modules(__path__):
    if _module.name.startswith(("coverage_", "null_")):  # each registers its checks when it is imported
        import_module(f"{__name__}.{_module.name}")

RUNS, DRAWS = 400, 2_000
_DEVIATIONS = 3  # standard errors of the Monte Carlo estimate


def run() -> Iterator[Result]:
    yield from splits.run()
    rng = np.random.default_rng(0)
    for check in NULL_CHECKS:
        for kind, stated in check.false_claims(RUNS, rng).items():
            share = 100 * stated / RUNS
            yield Result("calibration", f"{kind} | {check.case}", "% false", share, aim_most=100 * _most(RUNS))
    for coverage in COVERAGE_CHECKS:
        yield _missed(coverage, coverage.draw(rng, DRAWS))


def _missed(check: CoverageCheck, drawn: Drawn) -> Result:
    baseline = None if drawn.baseline_coverage is None else 100 * (1 - drawn.baseline_coverage)
    width = "" if drawn.width_ratio is None else f", {drawn.width_ratio:.2f} times as wide"
    case = f"{check.interval} | {check.case}, n = {check.n:,}{width}"
    missed = 100 * (1 - drawn.coverage)
    return Result(
        "calibration", case, "% missed", missed, baseline, drawn.baseline_name, aim_most=100 * (1 - check.least)
    )


def _most(runs: int) -> float:
    """The largest accepted share of false claims: the nominal level plus its Monte Carlo error."""
    return NOMINAL + _DEVIATIONS * float(np.sqrt(NOMINAL * (1 - NOMINAL) / runs))
