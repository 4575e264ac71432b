"""Selective classification: curves and areas against slow restatements, and the guarantee of certified thresholds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from regrade.core import InputError, UndefinedError
from regrade.stats import certified_threshold, excess_area, risk_coverage_area, selective_risks

SCORED = st.integers(1, 40).flatmap(
    lambda n: st.tuples(
        hnp.arrays(float, n, elements=st.sampled_from([0.2, 0.5, 0.5001, 0.9, 1.0])), hnp.arrays(bool, n)
    )
)


@given(SCORED)
def test_selective_risks_are_means_over_random_orders_of_ties(scored):
    confidences, correct = scored
    risks = selective_risks(confidences, correct)
    ranked = sorted(set(confidences), reverse=True)
    errors = [np.mean(~correct[confidences == level]) for level in ranked for _ in range((confidences == level).sum())]
    assert risks == pytest.approx([np.mean(errors[:k]) for k in range(1, len(errors) + 1)])


@given(SCORED)
def test_risk_coverage_area_is_the_mean_risk_within_its_interval(scored):
    confidences, correct = scored
    area = risk_coverage_area(confidences, correct)
    assert area.value == pytest.approx(selective_risks(confidences, correct).mean())
    assert 0 <= area.low <= area.value <= area.high <= 1
    excess = excess_area(confidences, correct)
    assert 0 <= excess.low <= excess.value <= excess.high <= 1


def test_areas_by_hand():
    """Risks 0, 0, 1/3, 1/2; the oracle of an error rate of 1/2 is 1/2 + ln(1/2) / 2."""
    confidences, correct = np.array([0.9, 0.8, 0.7, 0.6]), np.array([True, True, False, False])
    assert risk_coverage_area(confidences, correct).value == pytest.approx((1 / 3 + 1 / 2) / 4)
    assert excess_area(confidences, correct).value == pytest.approx((1 / 3 + 1 / 2) / 4 - (0.5 + np.log(0.5) / 2))


def test_areas_of_useless_confidences_are_the_error_rate():
    correct = np.arange(50) % 5 > 0
    assert risk_coverage_area(np.full(50, 0.7), correct).value == pytest.approx(0.2)


def test_influence_matches_the_jackknife():
    """The width of the interval follows the variance that leaving out single images gives."""
    rng = np.random.default_rng(0)
    confidences = rng.beta(3, 1, 800)
    correct = rng.random(800) < confidences
    left_out = [risk_coverage_area(np.delete(confidences, i), np.delete(correct, i)).value for i in range(800)]
    spread = np.sqrt(799 * np.var(left_out))
    area = risk_coverage_area(confidences, correct)
    assert area.high - area.low == pytest.approx(2 * stats.norm.isf(0.025) * spread, rel=0.05)


def test_areas_reject_impossible_input():
    with pytest.raises(UndefinedError, match="at least one prediction"):
        selective_risks(np.ones(0), np.ones(0, dtype=bool))
    with pytest.raises(InputError, match=r"both be \(n,\)"):
        risk_coverage_area(np.ones(2), np.ones(3, dtype=bool))
    with pytest.raises(InputError, match="not a number"):
        selective_risks(np.array([np.nan]), np.array([True]))


def test_certified_threshold_holds_as_often_as_promised():
    """Right with probability c: the accuracy above t is (1 + t) / 2, which is the target at t = 0.8."""
    rng, failures, accepted = np.random.default_rng(0), 0, []
    for _ in range(400):
        confidences = rng.random(1_000)
        certified = certified_threshold(confidences, rng.random(1_000) < confidences, target=0.9)
        failures += certified is not None and (1 + certified.threshold) / 2 < 0.9
        accepted.append(0 if certified is None else certified.accepted)
    assert failures <= stats.binom.isf(1e-4, 400, 0.05)
    assert np.median(accepted) > 50  # of the 200 that the target allows


def test_certified_threshold_counts_predictions_above_it():
    confidences = np.repeat([1.0, 0.9, 0.3], [100, 300, 100])
    certified = certified_threshold(confidences, confidences > 0.5, target=0.95)
    assert (certified.accepted, certified.right, certified.images) == (400, 400, 500)
    assert certified.threshold == 0.3


def test_certified_threshold_of_accurate_model_accepts_every_prediction():
    certified = certified_threshold(np.full(200, 0.6), np.ones(200, dtype=bool), target=0.9)
    assert (certified.threshold, certified.accepted) == (0.0, 200)


@pytest.mark.parametrize(("right", "images"), [(0, 300), (20, 20)], ids=["wrong", "too few images"])
def test_certified_threshold_is_none_if_nothing_shows_the_target(right, images):
    assert certified_threshold(np.linspace(0, 1, images), np.arange(images) < right, target=0.9) is None


def test_certified_threshold_rejects_a_target_of_1():
    with pytest.raises(InputError, match="between 0 and 1, got 1"):
        certified_threshold(np.ones(5), np.ones(5, dtype=bool), target=1)
