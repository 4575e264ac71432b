from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from regrade.core import Estimate
from regrade.core.errors import InputError
from regrade.stats import benjamini_hochberg, holm, holm_threshold, multiplicity, widen_for_comparisons

quick = settings(deadline=None, max_examples=100, derandomize=True)
CORRECTIONS = {holm: "holm", benjamini_hochberg: "fdr_bh"}
p_lists = st.lists(st.floats(0, 1), min_size=1, max_size=40)


def test_holm_by_hand():
    # sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1: 0.02, 0.03, 0.06, then no less than before
    assert holm([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_benjamini_hochberg_by_hand():
    # sorted 0.005, 0.01, 0.03, 0.04 times 4/1, 4/2, 4/3, 4/4: 0.02, 0.02, 0.04, 0.04
    assert benjamini_hochberg([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx([0.02, 0.04, 0.04, 0.02])


@pytest.fixture(scope="module")
def _statsmodels_without_garbage_collection():
    """statsmodels collects garbage on every call, which takes most of a second where much is loaded."""
    with mock.patch("gc.collect"):
        yield


@pytest.mark.usefixtures("_statsmodels_without_garbage_collection")
@pytest.mark.parametrize("correction", CORRECTIONS)
@given(p_values=p_lists)
@quick
def test_agrees_with_statsmodels(correction, p_values):
    expected = multipletests(p_values, method=CORRECTIONS[correction])[1]
    np.testing.assert_allclose(correction(p_values), expected, rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("correction", CORRECTIONS)
@given(p_values=p_lists, seed=st.integers(0, 99))
@quick
def test_adjusted_p_values_are_larger_and_keep_order(correction, p_values, seed):
    p = np.array(p_values)
    adjusted = correction(p)
    assert (p <= adjusted * (1 + 1e-12)).all()
    assert (adjusted <= 1).all()
    assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= 0).all()
    shuffle = np.random.default_rng(seed).permutation(len(p))
    np.testing.assert_array_equal(correction(p[shuffle]), adjusted[shuffle])


def test_widened_t_interval_is_that_of_the_smaller_level():
    # two degrees of freedom, 4 intervals: t of 8.860 (98.75%) for t of 4.303 (95%)
    estimate = Estimate(0.1, 0.0, 0.2, 3, "t over models 95%")
    wider = widen_for_comparisons(estimate, 4, freedom=2)
    assert (wider.low, wider.high) == pytest.approx((0.1 - 0.1 * 8.860 / 4.303, 0.1 + 0.1 * 8.860 / 4.303), abs=1e-3)
    assert widen_for_comparisons(estimate, 4).high < wider.high


def test_holm_controls_family_wise_error_rate():
    p = np.random.default_rng(0).random((4000, 20))
    any_rejected = np.mean([(holm(row) <= 0.05).any() for row in p])
    assert any_rejected == pytest.approx(1 - (1 - 0.05 / 20) ** 20, abs=3 * np.sqrt(0.05 * 0.95 / 4000))


def test_benjamini_hochberg_controls_false_discovery_rate():
    rng = np.random.default_rng(1)
    p = rng.random((3000, 20))
    p[:, :10] **= 8  # true findings
    rejected = np.array([benjamini_hochberg(row) <= 0.2 for row in p])
    false_share = rejected[:, 10:].sum(axis=1) / np.maximum(rejected.sum(axis=1), 1)
    assert false_share.mean() == pytest.approx(0.2 * 10 / 20, abs=4 * false_share.std() / np.sqrt(3000))


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_empty_input_is_empty_and_invalid_p_values_raise(correction):
    assert correction([]).shape == (0,)
    for wrong in ([0.1, 1.1], [-0.1], [float("nan")], [[0.1]], 0.1):
        with pytest.raises(InputError, match="p-values"):
            correction(wrong)


@given(p_values=p_lists, level=st.sampled_from([0.001, 0.05, 0.5, 0.999]))
@quick
def test_holm_threshold_separates_what_holm_rejects(p_values, level):
    threshold = holm_threshold(np.array(p_values), level)
    assert [p <= threshold for p in p_values] == (holm(p_values) <= level).tolist()


def test_holm_threshold_in_blocks_is_that_of_one_block(monkeypatch):
    rng = np.random.default_rng(0)
    p_values = np.concatenate([rng.random(200), rng.random(100) * 1e-4])
    whole = holm_threshold(p_values.copy(), 0.05)
    monkeypatch.setattr(multiplicity, "_BLOCK", 7)
    assert holm_threshold(p_values.copy(), 0.05) == whole > 0
    assert holm_threshold(np.array([]), 0.05) == -1 == holm_threshold(np.array([0.9]), 0.05)
