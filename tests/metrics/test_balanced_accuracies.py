"""Balanced accuracy: by hand, against scikit-learn, and undefined cases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score

from regrade.core import InputError, UndefinedError
from regrade.metrics import balanced_accuracy


def test_balanced_accuracy_by_hand():
    labels = np.array([0, 0, 0, 0, 1, 1, 3])
    correct = np.array([[1, 1, 1, 0, 1, 0, 0], [1, 1, 1, 1, 1, 1, 1]], dtype=bool)
    assert balanced_accuracy(correct, labels) == pytest.approx([(3 / 4 + 1 / 2 + 0) / 3, 1.0])


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=60))
@pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true", "ignore:A single label")
def test_balanced_accuracy_is_that_of_scikit_learn(pairs):
    labels, predicted = np.array(pairs).T
    expected = balanced_accuracy_score(labels, predicted)
    assert balanced_accuracy((labels == predicted)[None], labels)[0] == pytest.approx(expected)


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=40), st.integers(2, 5))
def test_balanced_accuracy_ignores_how_often_a_class_occurs(pairs, times):
    labels, correct = (np.array(column) for column in zip(*pairs, strict=True))
    repeats = np.where(labels == labels[0], times, 1)
    repeated = balanced_accuracy(np.repeat(correct, repeats)[None], np.repeat(labels, repeats))
    assert repeated == pytest.approx(balanced_accuracy(correct[None], labels))


def test_balanced_accuracy_rejects_bad_input():
    with pytest.raises(InputError, match=r"shape \(models, 2\)"):
        balanced_accuracy(np.ones((1, 3), dtype=bool), np.zeros(2, dtype=int))
    with pytest.raises(InputError, match="no label"):
        balanced_accuracy(np.ones((1, 2), dtype=bool), np.array([0, -1]))
    with pytest.raises(UndefinedError):
        balanced_accuracy(np.ones((1, 0), dtype=bool), np.zeros(0, dtype=int))
