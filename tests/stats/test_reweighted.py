"""A share carried over to images of which only the strata are known."""

import numpy as np
import pytest

from regrade.core import InputError, UndefinedError
from regrade.stats import clopper_pearson, reweighted_proportion, stratified_proportion


def test_by_hand():
    """1 of 4 in the first stratum and 3 of 4 in the second, which the others have three times as often."""
    found = reweighted_proportion([1, 0, 0, 0, 1, 1, 1, 0], [0, 0, 0, 0, 1, 1, 1, 1], [0, 1, 1, 1])
    assert found.value == pytest.approx(0.25 * 0.25 + 0.75 * 0.75)
    assert (found.n, found.method) == (8, "post-stratified korn-graubard 95%")
    assert 0 <= found.low < found.value < found.high <= 1


def test_with_very_many_others_it_is_the_stratified_share():
    rng = np.random.default_rng(0)
    strata, values = rng.integers(4, size=400), rng.random(400) < 0.3
    found = reweighted_proportion(values, strata, np.repeat([0, 1, 2, 3], [10**6, 10**6, 2 * 10**6, 4 * 10**6]))
    (expected,) = stratified_proportion(values, strata, weights=[1, 1, 2, 4])
    assert (found.value, found.low, found.high) == pytest.approx(
        (expected.value, expected.low, expected.high), abs=1e-4
    )


def test_few_others_widen_the_interval():
    rng = np.random.default_rng(1)
    strata = rng.integers(5, size=1000)
    values = rng.random(1000) < strata / 5
    widths = []
    for others in (20, 200, 20_000):
        found = reweighted_proportion(values, strata, np.arange(others) % 5)
        widths.append(found.high - found.low)
    assert widths[0] > 2 * widths[1] > 2 * widths[2]


def test_without_any_mistake_there_is_still_an_upper_bound():
    found = reweighted_proportion(np.zeros(100), np.arange(100) % 4, np.arange(40) % 4)
    assert (found.value, found.low) == (0, 0)
    assert found.high == pytest.approx(float(clopper_pearson(0, 100).high), rel=0.05)


def test_a_stratum_that_the_others_lack_counts_for_nothing():
    found = reweighted_proportion([1, 1, 0, 0], [0, 0, 1, 1], [1, 1, 1])
    assert found.value == 0


def test_coverage_where_the_strata_are_all_that_matters():
    """Errors depend on the stratum alone, and the others have it in other numbers."""
    rng = np.random.default_rng(2)
    rates, here, there = np.array([0.02, 0.1, 0.3, 0.6]), [0.6, 0.2, 0.15, 0.05], [0.2, 0.2, 0.3, 0.3]
    truth = rates @ there
    held = []
    for _ in range(800):
        strata, others = rng.choice(4, 300, p=here), rng.choice(4, 150, p=there)
        found = reweighted_proportion(rng.random(300) < rates[strata], strata, others)
        held.append(found.low <= truth <= found.high)
    assert 0.93 < np.mean(held) < 0.99


@pytest.mark.parametrize(
    ("values", "strata", "others", "error"),
    [
        ([0, 1], [0, 0], [], UndefinedError),
        ([0, 1], [0, 0], [0, 1], InputError),
        ([], [], [0], InputError),
    ],
)
def test_what_cannot_be_carried_over_is_refused(values, strata, others, error):
    with pytest.raises(error):
        reweighted_proportion(values, np.array(strata, dtype=int), np.array(others, dtype=int))
