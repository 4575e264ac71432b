"""How often a claim is made that is false, and how often an interval misses the truth.

First the published predictions, split at random so that nothing but chance differs; then every kind of finding on data
in which it is false; then every interval on data whose truth is known.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.calibration import (  # noqa: F401 - each registers its checks
    coverage_agreement,
    coverage_calibration_error,
    coverage_confusion,
    coverage_correlations,
    coverage_groups,
    coverage_leakage,
    coverage_lines,
    coverage_losses,
    coverage_same_images,
    coverage_selection,
    coverage_sequences,
    coverage_shares,
    null_agreement,
    null_comparison,
    null_confusion,
    null_corruption,
    null_expected_error,
    null_generalization,
    null_geography,
    null_grade,
    null_label_change,
    null_labels,
    null_leakage,
    null_people,
    null_similarity,
    splits,
)
from benchmarks.calibration.checks import COVERAGE_CHECKS, NOMINAL, NULL_CHECKS, CoverageCheck, Drawn, NullCheck
from benchmarks.result import Result

__all__ = ["COVERAGE_CHECKS", "DRAWS", "NULL_CHECKS", "RUNS", "CoverageCheck", "Drawn", "NullCheck", "run"]

RUNS, DRAWS = 400, 2_000
_DEVIATIONS = 3  # standard errors of the Monte Carlo share


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
    rival = None if drawn.rival_coverage is None else 100 * (1 - drawn.rival_coverage)
    width = "" if drawn.width_ratio is None else f", {drawn.width_ratio:.2f} times as wide"
    case = f"{check.interval} | {check.case}, n = {check.n:,}{width}"
    missed = 100 * (1 - drawn.coverage)
    return Result("calibration", case, "% missed", missed, rival, drawn.rival_name, aim_most=100 * (1 - check.least))


def _most(runs: int) -> float:
    """The largest share of false claims that is no more than the nominal one and its Monte Carlo error."""
    return NOMINAL + _DEVIATIONS * float(np.sqrt(NOMINAL * (1 - NOMINAL) / runs))
