"""The test of conformal coverage: against scipy's beta-binomial distribution and in simulation."""

import numpy as np
import pytest
from scipy import stats

from regrade.core import InputError
from regrade.metrics import conformal_rank, conformal_threshold
from regrade.stats import least_expected_coverage, undercoverage_p_value


@pytest.mark.parametrize(("covered", "images", "calibration"), [(85, 100, 50), (0, 20, 9), (900, 1_000, 5_000)])
def test_undercoverage_p_value_matches_scipy(covered, images, calibration):
    rank = conformal_rank(calibration, 0.1)
    expected = stats.betabinom(images, rank, calibration + 1 - rank).cdf(covered)
    p_value = undercoverage_p_value(covered, images, rank=rank, calibration_images=calibration)
    assert p_value == pytest.approx(expected, rel=1e-6)


def test_undercoverage_p_value_is_uniform_for_exchangeable_images():
    rng, p_values = np.random.default_rng(0), []
    for _ in range(500):
        scores = rng.random(300)
        covered = int((scores[100:] <= conformal_threshold(scores[:100])).sum())
        p_values.append(undercoverage_p_value(covered, 200, rank=conformal_rank(100, 0.1), calibration_images=100))
    assert stats.kstest(p_values, "uniform").pvalue > 1e-3


def test_undercoverage_cannot_be_shown_with_too_few_calibration_images():
    assert undercoverage_p_value(0, 10, rank=9, calibration_images=8) == 1.0


@pytest.mark.parametrize(("images", "calibration"), [(1, 5), (40, 19), (500, 300)])
def test_least_expected_coverage_is_the_first_that_is_not_surprising(images, calibration):
    sample = {"rank": conformal_rank(calibration, 0.1), "calibration_images": calibration}
    least = least_expected_coverage(images, level=0.05, **sample)
    p_values = [undercoverage_p_value(covered, images, **sample) for covered in range(images + 1)]
    assert least == next(covered for covered, p_value in enumerate(p_values) if p_value > 0.05)


def test_undercoverage_p_value_rejects_impossible_counts():
    with pytest.raises(InputError, match="between 0 and 5"):
        undercoverage_p_value(6, 5, rank=9, calibration_images=9)
