import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.metrics import top_k_accuracy_score

from regrade.core import NO_ANSWER, ClassMap, ClassSpace, InputError, MapRule, MismatchError, subset_map
from regrade.metrics import (
    best_within,
    expected_correct,
    mapped_correct,
    ties_across,
    top_k,
    top_k_classes,
    top_k_correct,
    top_k_within,
)

FLOATS = (np.float16, np.float32, np.float64)
SCORES_WITH_TIES = arrays.arrays(
    st.sampled_from(FLOATS),
    st.tuples(st.integers(1, 5), st.integers(1, 20)),
    elements=st.sampled_from([-math.inf, -1.0, -0.0, 0.0, 0.25, 0.5, math.inf]),
)
BREEDS = ClassSpace("breeds", ("pug", "collie", "tabby", "carp", "siamese"))
PETS = ClassSpace("pets", ("dog", "cat", "parrot"))
TO_PETS = ClassMap(BREEDS, PETS, ((0, 1), (2, 4), ()), MapRule.ANY_IN_TOP_K)


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
    with pytest.raises(InputError, match="row 8 of the scores contains NaN"):
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


def struck_out(scores, allowed):
    """The scores with -inf for every class that is not allowed."""
    left = np.full(scores.shape, -np.inf)
    left[:, allowed] = scores[:, allowed]
    return left


def test_the_best_of_the_allowed_classes_by_hand():
    scores = np.array([[0.5, 0.1, 0.3, 0.05], [0.0, 0.2, 0.2, 0.6]])
    assert top_k_within(scores, np.array([2, 1]), k=1).tolist() == [[2], [1]]
    assert top_k_within(scores, np.array([2, 1]), k=2).tolist() == [[2, 1], [1, 2]]


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_top_k_within_equals_top_k_of_the_allowed_columns(dtype):
    rng = np.random.default_rng(11)
    scores = rng.normal(size=(200, 1000)).astype(dtype)
    allowed = rng.permutation(1000)[:200]
    expected = struck_out(scores, allowed).argmax(axis=1)
    assert top_k_within(scores, allowed, k=1)[:, 0].tolist() == expected.tolist()
    assert not np.array_equal(expected, scores.argmax(axis=1))


@given(st.integers(0, 2**32 - 1), st.sets(st.integers(0, 11), min_size=1))
@settings(deadline=None, max_examples=80)
def test_the_order_of_the_allowed_classes_does_not_matter_even_for_ties(seed, allowed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 4, size=(6, 12)).astype(float)
    shuffled = rng.permutation(sorted(allowed))
    got = top_k_within(scores, shuffled, k=len(allowed))
    assert got.tolist() == top_k_classes(struck_out(scores, shuffled), k=12)[:, : len(allowed)].tolist()


def test_an_allowed_class_named_twice_is_answered_once():
    scores = np.array([[0.1, 0.5, 0.4]])
    assert top_k_within(scores, np.array([1, 2, 1]), k=2).tolist() == [[1, 2]]


def test_top_k_within_rejects_k_above_allowed_classes():
    with pytest.raises(InputError, match="top-3 needs"):
        top_k_within(np.zeros((4, 9)), np.array([1, 2]), k=3)


def test_scores_of_classes_that_are_not_allowed_need_not_be_numbers():
    assert top_k_within(np.array([[np.nan, 0.1, 0.2]]), np.array([1, 2]), k=1).tolist() == [[2]]


def test_the_first_stored_class_that_is_allowed_is_the_answer():
    classes = np.array([[4, 1, 2], [3, 0, 2], [3, 5, 4], [-1, -1, -1]])
    assert best_within(classes, np.array([2, 1])).tolist() == [1, 2, NO_ANSWER, NO_ANSWER]


@given(st.integers(0, 2**32 - 1), st.sets(st.integers(0, 14), min_size=1), st.integers(1, 15))
@settings(deadline=None, max_examples=80)
def test_best_within_matches_all_scores_or_is_missing(seed, allowed, k):
    scores = np.random.default_rng(seed).integers(0, 9, size=(8, 15)).astype(float)
    inside = np.array(sorted(allowed))
    stored = top_k_classes(scores, k=k)
    from_all = top_k_within(scores, inside, k=1)[:, 0].tolist()
    expected = [
        answer if allowed & set(row) else NO_ANSWER for answer, row in zip(from_all, stored.tolist(), strict=True)
    ]
    assert best_within(stored, inside).tolist() == expected


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int16, np.int64])
def test_no_answer_is_minus_one_whatever_type_the_classes_are_stored_in(dtype):
    assert best_within(np.array([[1, 2], [3, 4]], dtype), np.array([2])).tolist() == [2, -1]


def test_any_mapped_class_in_the_top_k_is_right():
    classes = np.array([[3, 1], [0, 4], [2, 3], [4, 2]])
    labels = np.array([0, 1, 0, 1])
    assert mapped_correct(classes, labels, TO_PETS).tolist() == [True, True, False, True]
    assert mapped_correct(classes[:, :1], labels, TO_PETS).tolist() == [False, False, False, True]


def test_label_without_source_class_is_never_right():
    classes = np.arange(5)[:, None]
    labels = np.full(5, 2)
    assert not mapped_correct(classes, labels, TO_PETS).any()
    assert not TO_PETS.scorable[labels].any()


def test_without_a_label_or_an_answer_nothing_is_right():
    # index -1 reads the last row and column: both must say yes here for the test to bite
    to_last = ClassMap(BREEDS, PETS, ((), (), (4,)), MapRule.ANY_IN_TOP_K)
    classes = np.array([[4], [-1], [-1], [4]])
    assert mapped_correct(classes, np.array([-1, 2, -1, 2]), to_last).tolist() == [False, False, False, True]


def test_mapped_correct_does_not_stretch_one_label_over_several_images():
    with pytest.raises(MismatchError, match="4 rows of classes but 1 labels"):
        mapped_correct(np.zeros((4, 1), int), np.array([0]), TO_PETS)


MAPS = st.tuples(*[st.sets(st.integers(0, 4))] * 3).map(
    lambda sets: ClassMap(BREEDS, PETS, tuple(tuple(s) for s in sets), MapRule.ANY_IN_TOP_K)
)
ANSWERS = st.lists(st.tuples(st.lists(st.integers(-1, 4), min_size=2, max_size=2), st.integers(-1, 2)), min_size=1)


@given(MAPS, ANSWERS)
@settings(deadline=None, max_examples=100)
def test_mapped_correct_is_a_plain_lookup(class_map, answers):
    classes, labels = (np.array(part) for part in zip(*answers, strict=True))
    expected = [label >= 0 and bool(set(row) & set(class_map.sources[label])) for row, label in answers]
    assert mapped_correct(classes, labels, class_map).tolist() == expected


def test_a_subset_scored_through_its_map_is_a_subset_scored_by_its_labels():
    rng = np.random.default_rng(2)
    subset = ClassSpace("some", ("siamese", "pug", "carp"))
    class_map = subset_map(BREEDS, subset)
    scores, labels = rng.random((100, 5)), rng.integers(3, size=100)
    classes = top_k_within(scores, class_map.mapped, k=1)
    in_source = np.array([4, 0, 3])[labels]
    assert np.array_equal(mapped_correct(classes, labels, class_map), top_k_correct(classes, in_source))


def test_expected_correct_by_hand():
    # class 2 is best; 0, 1 and 3 are tied for the one place that is left
    classes, tied = np.array([[2, 0]]), np.array([[True, True, False, True]])
    for accepted, value in (([0, 0, 1, 0], 1), ([0, 0, 0, 1], 1 / 3), ([1, 0, 0, 1], 2 / 3), ([0, 0, 0, 0], 0)):
        assert expected_correct(classes, tied, np.array([accepted], dtype=bool))[0] == pytest.approx(value)
    # two places of three tied classes: missed by two accepted ones only if both places go to others
    assert expected_correct(np.array([[2, 0, 1]]), tied, np.array([[0, 1, 0, 1]], dtype=bool)).tolist() == [1]


@settings(deadline=None, max_examples=40)
@given(
    arrays.arrays(np.float32, (3, 5), elements=st.sampled_from([0.0, 0.25, 0.5])),
    arrays.arrays(bool, (3, 5)),
    st.integers(1, 4),
)
def test_expected_correct_is_the_mean_over_all_orders_of_the_classes(scores, accepted, k):
    right = np.zeros(3)
    orders = list(itertools.permutations(range(5)))
    for order in orders:
        best = np.array(order)[top_k_classes(scores[:, order], k=k)]
        right += np.take_along_axis(accepted, best, axis=1).any(axis=1)
    best = top_k_classes(scores, k=k)
    ties, expected = ties_across(scores, best), np.take_along_axis(accepted, best, axis=1).any(axis=1).astype(float)
    if ties is not None:
        rows, tied = ties.rows, ties.classes(np.arange(len(ties)), 5)
        expected[rows] = expected_correct(best[rows], tied, accepted[rows])
    np.testing.assert_allclose(expected, right / len(orders), atol=1e-12)


def test_ties_across_are_those_of_classes_that_are_not_among_the_best(monkeypatch):
    scores = np.array([[3, 2, 2, 1], [2, 2, 1, 0], [0, 0, 0, 0], [1, 3, 2, 0]], dtype=float)
    best = top_k_classes(scores, k=2)
    for block in (4, 1 << 20):  # also with one image per block
        monkeypatch.setattr(top_k, "_BLOCK", block)
        ties = ties_across(scores, best)
        assert ties.rows.tolist() == [0, 2]
        assert ties.classes(np.array([0, 1]), 4).astype(int).tolist() == [[0, 1, 1, 0], [1, 1, 1, 1]]
    assert ties_across(scores[[1, 3]], best[[1, 3]]) is None and ties_across(scores[:0], best[:0]) is None
    moved = ties.reordered(np.array([2, 1, 3, 0]))
    assert moved.rows.tolist() == [0, 3] and moved.bits.tolist() == ties.bits[::-1].tolist()
    assert ties.reordered(np.array([3, 1])) is None
