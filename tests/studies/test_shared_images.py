"""Which examples of two test sets are the same image by their ids."""

import numpy as np
import pytest

from regrade.classes import class_space
from regrade.core import UNLABELED, ClassSpace, TestSet
from regrade.studies.shared_images import shared_images

SPACE = class_space("cifar-10")


def make_set(name, ids, labels, *, space=SPACE, **groups):
    return TestSet(name, space, tuple(ids), np.array(labels, dtype=np.int32), groups)


def in_second(first, second, *chosen):
    """The ids of the second set that show one of the chosen images of the first; None if the sets share none."""
    shared = shared_images(first, second)
    if shared is None:
        return None
    inside = shared.in_second(np.isin(np.array(first.ids), chosen))
    return [example for example, is_shown in zip(second.ids, inside, strict=True) if is_shown]


FIRST = make_set("first", "abcd", [0, 1, 2, 3])


def test_shared_images_of_a_subset_in_another_order():
    hard = make_set("hard", "dxb", [3, 5, 1])
    assert in_second(FIRST, hard, "a", "d") == ["d"]
    assert in_second(hard, FIRST, "d", "b", "x") == ["b", "d"]
    assert in_second(hard, FIRST) == []


def test_shared_images_of_a_set_with_itself():
    assert in_second(FIRST, FIRST, "b") == ["b"]


@pytest.mark.parametrize(("labels", "is_shared"), [([0, 1, 9, 9], True), ([0, 9, 9, 9], False)])
def test_shared_images_require_half_of_the_labels_to_agree(labels, is_shared):
    assert (in_second(FIRST, make_set("second", "abcd", labels), "c") == ["c"]) is is_shared


def test_shared_images_of_a_set_without_labels():
    bare = make_set("bare", "cd", [UNLABELED] * 2)
    assert in_second(FIRST, bare, "d") == ["d"]
    assert in_second(bare, FIRST, "d") == ["d"]


def test_shared_images_of_clean_and_corrupted_sets():
    ids = ["fog/1/a", "fog/1/b", "snow/2/a"]
    kinds = {"corruption": ("fog", "fog", "snow"), "severity": ("1", "1", "2")}
    for corrupted in (
        make_set("generated", ids, [0, 1, 0], image=("a", "b", "a"), **kinds),
        make_set("released", ids, [0, 1, 0], **kinds),
    ):
        assert in_second(FIRST, corrupted, "a") == ["fog/1/a", "snow/2/a"]
        assert in_second(corrupted, FIRST, "snow/2/a") == ["a"]
        assert in_second(corrupted, corrupted, "snow/2/a") == ["fog/1/a", "snow/2/a"]


def test_shared_images_require_common_ids_and_the_same_classes():
    assert in_second(FIRST, make_set("other", "xyz", [0, 1, 2]), "a") is None
    few = ClassSpace("few", tuple("pqrs"))
    assert in_second(FIRST, make_set("few", "abcd", [0, 1, 2, 3], space=few), "a") is None
