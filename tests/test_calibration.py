"""Every claim has a null check and every interval a coverage check; small runs of both, which can fail."""

import numpy as np
import pytest
from scipy import stats

from benchmarks.calibration import COVERAGE_CHECKS, NULL_CHECKS, CoverageCheck, NullCheck
from benchmarks.calibration.checks import NOMINAL
from regrade.report import finding_kinds

RUNS, DRAWS = 40, 400
ALARM = 1e-4
"""The chance that a check fails although the claim or the interval keeps its level."""


def test_every_claim_names_its_test():
    assert not [kind.name for kind in finding_kinds().values() if kind.claims and not kind.test]


@pytest.mark.parametrize("check", NULL_CHECKS, ids=lambda check: f"{check.kinds[0]}, {check.case}")
def test_null_check(check: NullCheck):
    most = stats.binom.isf(ALARM, RUNS, NOMINAL)
    assert max(check.false_claims(RUNS, np.random.default_rng(0)).values()) <= most


@pytest.mark.parametrize("check", COVERAGE_CHECKS, ids=lambda check: f"{check.interval}, {check.case}, {check.n}")
def test_coverage_check(check: CoverageCheck):
    drawn = check.draw(np.random.default_rng(0), DRAWS)
    assert round(drawn.coverage * DRAWS) >= stats.binom.ppf(ALARM, DRAWS, check.least)
