import dataclasses

import numpy as np
import pytest

from regrade.core import ClassSpace, Hierarchy, InputError, UnknownName

PETS = ClassSpace(
    "pets",
    ("cat", "dog", "wolf", "carp"),
    names=("house cat", "hound", "grey wolf", "koi"),
    lemmas=(("house cat", "moggy"), ("hound",), ("grey wolf",), ("koi", "carp")),
    hierarchy=Hierarchy(
        parents={"cat": ("mammal",), "dog": ("canine",), "wolf": ("canine",), "canine": ("mammal",)},
        lemmas={"mammal": ("mammal",), "canine": ("canine",)},
    ),
    groups={"at home": (1, 0), "wild": (2,)},
    collapsed={1: (2,), 2: (1, 3)},
)


def test_names_and_lemmas_default_to_the_ids():
    space = ClassSpace("two", ("a", "b"))
    assert space.names == ("a", "b")
    assert space.lemmas == (("a",), ("b",))
    assert len(space) == 2


def test_index_goes_from_id_to_position():
    assert [PETS.index(class_id) for class_id in PETS.ids] == [0, 1, 2, 3]


def test_an_unknown_id_names_its_neighbors():
    with pytest.raises(UnknownName, match="unknown class id of pets 'wolff'; did you mean wolf"):
        PETS.index("wolff")


def test_a_word_in_place_of_an_id_is_pointed_out():
    with pytest.raises(UnknownName, match="this is a name of cat: use the id"):
        PETS.index("Moggy")


@pytest.mark.parametrize(
    ("name", "members"),
    [("at home", [0, 1]), ("dog", [1]), ("canine", [1, 2]), ("mammal", [0, 1, 2])],
)
def test_a_group_is_a_named_one_a_class_or_what_is_below_a_concept(name, members):
    assert PETS.group(name).tolist() == members


def test_an_unknown_group_raises():
    with pytest.raises(UnknownName, match="group of pets 'reptile'"):
        PETS.group("reptile")


def test_groups_do_not_need_a_hierarchy():
    with pytest.raises(UnknownName):
        dataclasses.replace(PETS, hierarchy=None).group("canine")


def test_a_subset_takes_along_names_groups_and_collapsed_classes_as_far_as_they_go():
    subset = PETS.subset("canines", [2, 1])
    assert subset.ids == ("wolf", "dog")
    assert subset.names == ("grey wolf", "hound")
    assert subset.lemmas == (("grey wolf",), ("hound",))
    assert subset.groups == {"at home": (1,), "wild": (0,)}
    assert subset.collapsed == {1: (0,), 0: (1,)}
    assert subset.group("canine").tolist() == [0, 1]


def test_a_subset_drops_groups_and_collapsed_classes_that_are_empty():
    subset = PETS.subset("one", [0])
    assert subset.groups == {"at home": (0,)}
    assert subset.collapsed == {}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"ids": ()}, "has no classes"),
        ({"ids": ("a", "a")}, "the id 'a' occurs twice"),
        ({"ids": ("", "")}, "the id '' occurs twice"),
        ({"ids": ("a", "b"), "names": ("x", "x")}, "the name 'x' occurs twice"),
        ({"ids": ("a", "b"), "names": ("x",)}, "2 ids, 1 names"),
        ({"ids": ("a", "b"), "lemmas": (("x",),)}, "2 ids, 1 lists of lemmas"),
        ({"ids": ("a", "b"), "groups": {"g": (2,)}}, "a group contains class 2, but there are 2 classes"),
        ({"ids": ("a", "b"), "groups": {"g": (-1,)}}, "a group contains class -1, but there are 2 classes"),
        ({"ids": ("a", "b"), "collapsed": {5: (0,)}}, "collapsed contains class 5, but there are 2 classes"),
        ({"ids": ("a", "b"), "collapsed": {0: (7,)}}, "collapsed contains class 7, but there are 2 classes"),
    ],
)
def test_what_does_not_fit_together_is_refused(fields, message):
    with pytest.raises(InputError, match=message):
        ClassSpace("bad", **fields)


def test_spaces_are_equal_by_name_and_ids_alone():
    assert ClassSpace("s", ("a", "b")) == ClassSpace("s", ("a", "b"), names=("x", "y"))
    assert ClassSpace("s", ("a", "b")) != ClassSpace("s", ("b", "a"))
    assert ClassSpace("s", ("a", "b")) != ClassSpace("t", ("a", "b"))


def test_the_digest_tells_the_order_of_the_ids_and_nothing_else():
    space = ClassSpace("s", ("a", "b"))
    assert space.digest == ClassSpace("t", ("a", "b"), names=("x", "y")).digest
    assert space.digest != ClassSpace("s", ("b", "a")).digest


def test_group_indices_can_index_an_array():
    assert np.arange(4)[PETS.group("canine")].tolist() == [1, 2]
