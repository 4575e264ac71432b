"""Levels of tests on a test set that is asked again: all sequences of verdicts, and scipy's binomial test."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from regrade.core import InputError
from regrade.stats import adaptive_level, better_p_value, smallest_passing_gain


def test_adaptive_levels_worked_by_hand():
    # the first: half of 5 %; the fifth after one pass: 0.05 / 25 / (2 * 3) over 4 orders
    assert adaptive_level(1, 0) == pytest.approx(0.025)
    assert adaptive_level(5, 1) == pytest.approx(0.05 / 25 / 6 / 4)
    assert adaptive_level(3, 2, confidence=0.9) == pytest.approx(0.1 / 9 / 12)


def test_levels_of_all_sequences_of_verdicts_sum_to_at_most_the_error():
    spent = sum(
        adaptive_level(len(history) + 1, sum(history))
        for length in range(12)
        for history in product((0, 1), repeat=length)
    )
    assert spent == pytest.approx(0.05 * (1 - 1 / 13))  # 1 / k (k + 1) for each number k of submissions


@pytest.mark.parametrize(("submission", "passes"), [(0, 0), (2, 2), (3, -1)])
def test_adaptive_level_rejects_impossible_histories(submission, passes):
    with pytest.raises(InputError, match="cannot follow"):
        adaptive_level(submission, passes)


def test_adaptive_level_rejects_confidence_out_of_range():
    with pytest.raises(InputError, match="confidence"):
        adaptive_level(1, 0, confidence=1)


@given(st.integers(0, 60), st.integers(0, 60))
def test_better_p_value_is_that_of_the_binomial_test(first, second):
    expected = stats.binomtest(first, first + second, alternative="greater").pvalue if first + second else 1.0
    assert better_p_value(first, second) == pytest.approx(expected, abs=1e-12)


def test_better_p_value_rejects_negative_counts():
    with pytest.raises(InputError, match="negative"):
        better_p_value(-1, 2)


@given(st.integers(1, 3000), st.floats(0, 0.3), st.floats(1e-6, 0.2))
def test_smallest_passing_gain_is_the_smallest(images, disagreement, level):
    gain = smallest_passing_gain(images, disagreement, level)
    discordant = round(disagreement * images)
    passing = [
        2 * ahead - discordant
        for ahead in range(discordant + 1)
        if stats.binom.sf(ahead - 1, discordant, 0.5) <= level and 2 * ahead >= discordant
    ]
    assert gain == (pytest.approx(min(passing) / images) if passing and discordant else None)
