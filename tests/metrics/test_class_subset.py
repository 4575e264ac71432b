import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regrade.core import NO_ANSWER, ClassMap, ClassSpace, InputError, MapRule, MismatchError, subset_map
from regrade.metrics import best_within, mapped_correct, top_k_classes, top_k_correct, top_k_within

BREEDS = ClassSpace("breeds", ("pug", "collie", "tabby", "carp", "siamese"))
PETS = ClassSpace("pets", ("dog", "cat", "parrot"))
TO_PETS = ClassMap(BREEDS, PETS, ((0, 1), (2, 4), ()), MapRule.ANY_IN_TOP_K)


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


def test_one_label_is_not_stretched_over_several_images():
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
