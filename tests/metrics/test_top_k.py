import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.metrics import top_k_accuracy_score

from regrade.core import InputError, MismatchError
from regrade.metrics import top_k, top_k_classes, top_k_correct

FLOATS = (np.float16, np.float32, np.float64)
SCORES_WITH_TIES = arrays.arrays(
    st.sampled_from(FLOATS),
    st.tuples(st.integers(1, 5), st.integers(1, 20)),
    elements=st.sampled_from([-math.inf, -1.0, -0.0, 0.0, 0.25, 0.5, math.inf]),
)


def slow_top_k(scores, k):
    """Sort by score, then by class index."""
    return [sorted(range(len(row)), key=lambda j, row=row: (-row[j], j))[:k] for row in scores.tolist()]


def test_the_best_classes_come_best_first():
    scores = np.array([[0.1, 0.6, 0.3], [3.0, -1.0, 2.0]])
    assert top_k_classes(scores, k=2).tolist() == [[1, 2], [0, 2]]


@given(SCORES_WITH_TIES, st.data())
@settings(deadline=None, max_examples=200)
def test_top_k_is_a_sort_by_score_then_by_class(scores, data):
    k = data.draw(st.integers(1, scores.shape[1]), label="k")
    assert top_k_classes(scores, k=k).tolist() == slow_top_k(scores, k)


@pytest.mark.parametrize("k", [5, 20])
def test_a_class_index_may_be_large(k):
    scores = np.arange(70_000, dtype=np.float32)[None, :]
    assert top_k_classes(scores, k=k).tolist() == [list(range(69_999, 69_999 - k, -1))]


@pytest.mark.parametrize("k", [1, 5, 16, 17, 40])
@pytest.mark.parametrize("value", [0.0, -math.inf, math.inf])
@pytest.mark.parametrize("dtype", FLOATS)
def test_where_all_scores_are_equal_the_first_classes_win(value, dtype, k):
    assert top_k_classes(np.full((2, 40), value, dtype), k=k).tolist() == [list(range(k))] * 2


def test_scores_of_minus_infinity_come_last_and_no_class_comes_twice():
    none = -np.inf
    scores = np.array([[5.0, none, none, none], [none, none, 7.0, none], [none, 1.0, none, 2.0]])
    assert top_k_classes(scores, k=3).tolist() == [[0, 1, 2], [2, 0, 1], [3, 1, 0]]


@pytest.mark.parametrize("dtype", FLOATS)
def test_scores_that_a_lower_precision_cannot_tell_apart_are_ties(dtype):
    scores = np.array([[0.5, 0.5 + 2.0**-20, 0.5 + 2.0**-40]]).astype(dtype)
    expected = {np.float16: [0, 1, 2], np.float32: [1, 0, 2], np.float64: [1, 2, 0]}
    assert top_k_classes(scores, k=3).tolist() == [expected[dtype]]


@pytest.mark.parametrize("k", [1, 5, 17, 29])
def test_top_k_accuracy_is_that_of_scikit_learn_where_no_scores_are_equal(k):
    rng = np.random.default_rng(3)
    scores, labels = rng.random((300, 30)), rng.integers(30, size=300)
    expected = top_k_accuracy_score(labels, scores, k=k, labels=range(30))
    assert top_k_correct(top_k_classes(scores, k=k), labels).mean() == pytest.approx(expected)


@pytest.mark.parametrize("block", [1, 25, 26, 100, 10_000])
@pytest.mark.parametrize("few", [0, 3, 25])
def test_neither_the_block_nor_the_way_of_sorting_changes_the_result(monkeypatch, block, few):
    scores = np.random.default_rng(5).integers(0, 6, size=(37, 25)).astype(np.float32)
    scores[::4, 2:] = -np.inf
    monkeypatch.setattr(top_k, "_BLOCK", block)
    monkeypatch.setattr(top_k, "_FEW", few)
    for k in (1, 3, 4, 25):
        assert top_k_classes(scores, k=k).tolist() == slow_top_k(scores, k)


def test_the_scores_stay_as_they_were():
    scores = np.array([[1.0, 2.0, 3.0]])
    top_k_classes(scores, k=2)
    assert scores.tolist() == [[1.0, 2.0, 3.0]]


@pytest.mark.parametrize("k", [1, 5, 20])
def test_not_a_number_is_refused_by_its_row(monkeypatch, k):
    monkeypatch.setattr(top_k, "_BLOCK", 2 * 20)
    scores = np.zeros((9, 20), np.float16)
    scores[7, 19] = np.nan
    with pytest.raises(InputError, match="row 7 of the scores contains NaN"):
        top_k_classes(scores, k=k)


@pytest.mark.parametrize(("shape", "k"), [((2, 3), 0), ((2, 3), 4), ((3,), 1), ((2, 3, 4), 1), ((2, 0), 1)])
def test_a_k_or_a_shape_that_does_not_fit_is_refused(shape, k):
    with pytest.raises(InputError, match=rf"top-{k} needs scores of shape"):
        top_k_classes(np.zeros(shape), k=k)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, bool])
def test_scores_that_are_not_floating_point_are_refused(dtype):
    with pytest.raises(InputError, match="floating-point"):
        top_k_classes(np.zeros((2, 20), dtype), k=17)


def test_no_images_have_no_best_classes():
    assert top_k_classes(np.zeros((0, 7)), k=2).shape == (0, 2)


def test_correct_is_whether_the_label_is_among_the_classes():
    classes = np.array([[1, 2], [0, 3], [3, 0]])
    assert top_k_correct(classes, np.array([2, 1, 3])).tolist() == [True, False, True]
    assert top_k_correct(classes[:, :1], np.array([2, 1, 3])).tolist() == [False, False, True]


@pytest.mark.parametrize("dtype", [np.int16, np.int64])
def test_without_a_label_or_an_answer_nothing_is_correct(dtype):
    classes = np.array([[-1, -1], [-1, -1], [0, -1], [0, -1]], dtype)
    assert top_k_correct(classes, np.array([-1, 0, -1, 0])).tolist() == [False, False, False, True]


def test_classes_of_an_unsigned_type_are_never_a_missing_label():
    assert top_k_correct(np.array([[65535, 1]], np.uint16), np.array([-1])).tolist() == [False]


def test_one_label_is_not_stretched_over_several_images():
    with pytest.raises(MismatchError, match="3 rows of classes but 1 labels"):
        top_k_correct(np.zeros((3, 2), int), np.array([0]))


@given(SCORES_WITH_TIES, st.data())
@settings(deadline=None, max_examples=50)
def test_more_guesses_are_never_worse_and_all_of_them_always_right(scores, data):
    images, classes = scores.shape
    labels = np.array(data.draw(st.lists(st.integers(0, classes - 1), min_size=images, max_size=images)))
    right = [top_k_correct(top_k_classes(scores, k=k), labels).sum() for k in range(1, classes + 1)]
    assert right == sorted(right)
    assert right[-1] == images
