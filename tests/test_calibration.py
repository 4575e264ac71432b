"""Small runs of the null checks: a claim that is false is stated no more often than its level allows."""

import numpy as np
import pytest
from scipy import stats

from benchmarks.calibration import NULL_CHECKS, NullCheck
from benchmarks.calibration.checks import NOMINAL
from regrade.report import finding_kinds

RUNS = 40
ALARM = 1e-4
"""The chance that a check fails although the claim keeps its level."""


def test_every_claim_names_its_test():
    assert not [kind.name for kind in finding_kinds().values() if kind.claims and not kind.test]


@pytest.mark.parametrize("check", NULL_CHECKS, ids=lambda check: f"{check.kinds[0]}, {check.case}")
def test_null_check(check: NullCheck):
    most = stats.binom.isf(ALARM, RUNS, NOMINAL)
    assert max(check.false_claims(RUNS, np.random.default_rng(0)).values()) <= most
