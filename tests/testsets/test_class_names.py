"""Mapping names to classes by a given or detected layout."""

import random
from pathlib import Path

import pytest

from regrade.core import ClassSpace, InputError, MismatchError
from regrade.testsets import Layout
from regrade.testsets.class_names import classes_by_name

ROOT = Path("set")
SPACE = ClassSpace("three", ("a", "b", "c"), ("ant", "bee", "cat"))


def meaning(*names: str, space: ClassSpace = SPACE, layout: Layout = Layout.PROVEN) -> dict[str, int]:
    return classes_by_name({name: name for name in names}, space, layout, what="label", where=ROOT)


@pytest.mark.parametrize("names", [("c", "a"), ("2", "0"), ("cat", "ant")])
def test_classes_by_name_detects_each_layout(names):
    assert list(meaning(*names).values()) == [2, 0]


def test_classes_by_name_ignores_the_order_of_names():
    many = ClassSpace("many", tuple(f"id{k}" for k in range(200)))
    names = [str(k) for k in range(200)]
    random.Random(0).shuffle(names)
    assert meaning(*names, space=many) == {name: int(name) for name in names}


def test_classes_by_name_maps_shown_texts():
    classes = classes_by_name({"x/a": "a", "y/a": "a", "x/b": "b"}, SPACE, Layout.PROVEN, what="folder", where=ROOT)
    assert classes == {"x/a": 0, "y/a": 0, "x/b": 1}


def test_error_names_the_name_that_does_not_fit_the_best_layout():
    with pytest.raises(MismatchError, match=r"label 'dog' of set is not a class id or index or name of three"):
        meaning("ant", "bee", "dog")
    with pytest.raises(MismatchError, match="label '3' of set"):
        meaning("0", "1", "3")


def test_a_given_layout_is_the_only_one_tried():
    with pytest.raises(MismatchError, match="label 'ant' of set is not a class id of three"):
        meaning("ant", layout=Layout.ID)


def test_classes_by_name_rejects_ambiguous_names():
    swapped = ClassSpace("swapped", ("1", "0"), ("x", "y"))
    for names in (("0", "1"), ("0",), ("1",)):
        with pytest.raises(InputError, match="the labels of set could be read as id or index of swapped"):
            meaning(*names, space=swapped)
    assert meaning("0", "1", space=swapped, layout=Layout.ID) == {"0": 1, "1": 0}
