import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.metrics import cohen_kappa_score

from regrade.core import UndefinedError
from regrade.core.arrays import joint_counts
from regrade.metrics import agreement, dominance_probability, error_consistency, independent_dominance, similarity

# 1 and 2 right together on two images of eight, wrong together on two
CORRECT = np.array([[1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 0, 0, 1, 0, 0, 1]], dtype=bool)
GRADED = arrays.arrays(bool, st.tuples(st.integers(1, 5), st.integers(1, 25)))


def test_error_consistency_by_hand():
    correct = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], dtype=bool)
    observed, expected = 3 / 4, 3 / 4 * 2 / 4 + 1 / 4 * 2 / 4
    assert error_consistency(correct)[0, 1] == pytest.approx((observed - expected) / (1 - expected))
    assert error_consistency(correct)[0, 1] == pytest.approx(0.5)


def test_independent_errors_have_no_consistency_and_opposite_ones_the_least():
    assert error_consistency(CORRECT)[0, 1] == pytest.approx(0, abs=1e-12)
    assert error_consistency(np.stack([CORRECT[0], ~CORRECT[0]]))[0, 1] == pytest.approx(-1)


@given(GRADED)
@settings(deadline=None, max_examples=100)
def test_error_consistency_is_cohens_kappa_or_not_a_number(correct):
    kappa = error_consistency(correct)
    for i, j in product(range(len(correct)), repeat=2):
        if correct[[i, j]].all() or not correct[[i, j]].any():
            assert math.isnan(kappa[i, j])
        else:
            expected = cohen_kappa_score(correct[i], correct[j], labels=[False, True])
            assert kappa[i, j] == pytest.approx(expected, abs=1e-12)


def test_one_model_that_is_always_right_leaves_its_consistency_with_others_at_zero():
    correct = np.array([[1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 0]], dtype=bool)
    kappa = error_consistency(correct)
    assert np.isnan(np.diagonal(kappa)).tolist() == [True, False, True]
    assert kappa[[0, 0, 1], [1, 2, 2]] == pytest.approx([0, 0, 0])


def test_a_single_error_among_many_images_is_not_taken_for_none():
    correct = np.ones((2, 1_000_000), dtype=bool)
    correct[:, 0] = False
    assert error_consistency(correct) == pytest.approx(np.ones((2, 2)))


def test_dominance_by_hand():
    correct = np.array([[1, 1, 1, 0, 0], [0, 0, 1, 1, 0]], dtype=bool)
    assert dominance_probability(correct) == pytest.approx(np.array([[0, 0.2], [0.2, 0]]))
    assert independent_dominance(correct) == pytest.approx(np.array([[0, 0.16], [0.16, 0]]))


@given(GRADED)
@settings(deadline=None, max_examples=100)
def test_dominance_is_that_of_a_loop_over_images(correct):
    observed, independent = dominance_probability(correct), independent_dominance(correct)
    images = correct.shape[1]
    for i, j in product(range(len(correct)), repeat=2):
        weak, strong = sorted((i, j), key=lambda m: (sum(correct[m]), m))
        surprises = sum(w and not s for w, s in zip(correct[weak], correct[strong], strict=True))
        assert observed[i, j] == pytest.approx(surprises / images)
        chance = 0 if i == j else sum(correct[weak]) / images * (1 - sum(correct[strong]) / images)
        assert independent[i, j] == pytest.approx(chance)


def test_agreement_by_hand():
    predictions = np.array([[1, 2, 3, 4], [1, 2, 0, 0], [0, 2, 3, 0]])
    expected = [[1, 0.5, 0.5], [0.5, 1, 0.5], [0.5, 0.5, 1]]
    assert agreement(predictions).tolist() == expected


@given(arrays.arrays(np.int16, st.tuples(st.integers(1, 5), st.integers(1, 20)), elements=st.integers(0, 3)))
@settings(deadline=None, max_examples=60)
def test_agreement_is_that_of_a_loop_over_images(predictions):
    got = agreement(predictions)
    for i, j in product(range(len(predictions)), repeat=2):
        same = sum(a == b for a, b in zip(predictions[i], predictions[j], strict=True))
        assert got[i, j] == pytest.approx(same / predictions.shape[1])


def test_two_models_without_an_answer_do_not_agree():
    predictions = np.array([[-1, 2, -1, 4], [-1, 2, 0, -1]])
    assert agreement(predictions).tolist() == [[1, 0.25], [0.25, 1]]


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_agreement_does_not_depend_on_the_block(monkeypatch, block):
    predictions = np.random.default_rng(2).integers(-1, 3, size=(5, 40)).astype(np.int16)
    expected = [
        [1 if i == j else np.mean((a == b) & (a >= 0)) for j, b in enumerate(predictions)]
        for i, a in enumerate(predictions)
    ]
    monkeypatch.setattr(similarity, "_BLOCK", block)
    assert agreement(predictions) == pytest.approx(np.array(expected))


@given(GRADED)
@settings(deadline=None, max_examples=40)
def test_agreement_on_being_right_is_what_error_consistency_observes(correct):
    p = correct.mean(axis=1)
    chance = np.outer(p, p) + np.outer(1 - p, 1 - p)
    observed, kappa = agreement(correct), error_consistency(correct)
    defined = ~np.isnan(kappa)
    assert (kappa * (1 - chance) + chance)[defined] == pytest.approx(observed[defined])


@pytest.mark.parametrize("metric", [error_consistency, dominance_probability, independent_dominance, agreement])
def test_no_images_leave_it_undefined(metric):
    with pytest.raises(UndefinedError, match="at least one image"):
        metric(np.zeros((2, 0), dtype=bool))


@pytest.mark.parametrize("block", [1, 3, 1000])
def test_joint_counts_do_not_depend_on_the_block(monkeypatch, block):
    correct = np.random.default_rng(1).random((4, 50)) < 0.6
    monkeypatch.setattr("regrade.core.arrays._BLOCK", block)
    expected = [[int((a & b).sum()) for b in correct] for a in correct]
    assert joint_counts(correct).tolist() == expected
