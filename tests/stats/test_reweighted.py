"""Tests of reweighted_proportion."""

import numpy as np
import pytest

from regrade.core import InputError, UndefinedError
from regrade.stats import clopper_pearson, reweighted_proportion, stratified_proportion


def test_by_hand():
    """1 of 4 in the first stratum and 3 of 4 in the second, which is three times as frequent among the targets."""
    estimate = reweighted_proportion([1, 0, 0, 0, 1, 1, 1, 0], [0, 0, 0, 0, 1, 1, 1, 1], [0, 1, 1, 1])
    assert estimate.value == pytest.approx(0.25 * 0.25 + 0.75 * 0.75)
    assert (estimate.n, estimate.method) == (8, "post-stratified korn-graubard 95%")
    assert 0 <= estimate.low < estimate.value < estimate.high <= 1


def test_many_target_images_give_the_stratified_share():
    rng = np.random.default_rng(0)
    strata, values = rng.integers(4, size=400), rng.random(400) < 0.3
    estimate = reweighted_proportion(values, strata, np.repeat([0, 1, 2, 3], [10**6, 10**6, 2 * 10**6, 4 * 10**6]))
    (expected,) = stratified_proportion(values, strata, weights=[1, 1, 2, 4])
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx(
        (expected.value, expected.low, expected.high), abs=1e-4
    )


def test_few_target_images_widen_the_interval():
    rng = np.random.default_rng(1)
    strata = rng.integers(5, size=1000)
    values = rng.random(1000) < strata / 5
    widths = []
    for targets in (20, 200, 20_000):
        estimate = reweighted_proportion(values, strata, np.arange(targets) % 5)
        widths.append(estimate.high - estimate.low)
    assert widths[0] > 2 * widths[1] > 2 * widths[2]


def test_without_any_mistake_there_is_still_an_upper_bound():
    estimate = reweighted_proportion(np.zeros(100), np.arange(100) % 4, np.arange(40) % 4)
    assert (estimate.value, estimate.low) == (0, 0)
    assert estimate.high == pytest.approx(float(clopper_pearson(0, 100).high), rel=0.05)


def test_stratum_without_target_images_has_no_weight():
    estimate = reweighted_proportion([1, 1, 0, 0], [0, 0, 1, 1], [1, 1, 1])
    assert estimate.value == 0


def test_coverage_if_errors_depend_only_on_strata():
    """Errors depend only on the stratum, and the targets have a different mix of strata."""
    rng = np.random.default_rng(2)
    rates, source_mix, target_mix = np.array([0.02, 0.1, 0.3, 0.6]), [0.6, 0.2, 0.15, 0.05], [0.2, 0.2, 0.3, 0.3]
    truth = rates @ target_mix
    held = []
    for _ in range(800):
        strata, target_strata = rng.choice(4, 300, p=source_mix), rng.choice(4, 150, p=target_mix)
        estimate = reweighted_proportion(rng.random(300) < rates[strata], strata, target_strata)
        held.append(estimate.low <= truth <= estimate.high)
    assert 0.93 < np.mean(held) < 0.99


@pytest.mark.parametrize(
    ("values", "strata", "target_strata", "error"),
    [
        ([0, 1], [0, 0], [], UndefinedError),
        ([0, 1], [0, 0], [0, 1], InputError),
        ([], [], [0], InputError),
    ],
)
def test_reweighted_proportion_rejects_invalid_strata(values, strata, target_strata, error):
    with pytest.raises(error):
        reweighted_proportion(values, np.array(strata, dtype=int), np.array(target_strata, dtype=int))
