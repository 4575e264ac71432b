"""Classes as a tree to walk."""

import pytest

from regrade.app.class_tree import Branch, class_tree
from regrade.classes import cifar_10, digits, imagenet_1k, imagenet_a
from regrade.core import ClassSpace, Hierarchy

# root > thing > {animal > {pet > {cat, dog}, wolf}, only > alone > lamp}; a dog is a wolf's kin too
PARENTS = {
    "root": (), "thing": ("root",), "animal": ("thing",), "pet": ("animal",), "kin": ("animal",), "only": ("thing",),
    "alone": ("only",), "cat": ("pet",), "dog": ("pet", "kin"), "wolf": ("kin",), "lamp": ("alone",),
}  # fmt: skip
SMALL = ClassSpace(
    "small",
    ("wolf", "dog", "cat", "lamp"),
    hierarchy=Hierarchy(PARENTS, {one: (f"a {one}",) for one in PARENTS}),
)


def test_a_tree_leaves_out_what_has_one_part_only():
    assert class_tree(SMALL) == (
        Branch("a thing", (1,), (3,), 4),
        Branch("a animal", (2, 3), (), 3),
        Branch("a kin", (), (1, 0), 2),
        Branch("a pet", (), (2, 1), 2),
    )


def test_a_class_that_is_a_concept_itself_stands_below_it():
    space = ClassSpace("both", ("pet", "cat", "dog"), hierarchy=SMALL.hierarchy)
    tree = class_tree(space)
    pet = next(one for one in tree if one.name == "a pet")
    assert (pet.classes, pet.count) == ((1, 2, 0), 3)
    assert tree[0].count == 3


def test_a_class_outside_the_hierarchy_and_several_roots_are_below_all_classes():
    space = ClassSpace("loose", ("cat", "dog", "stone"), hierarchy=SMALL.hierarchy)
    tree = class_tree(space)
    assert tree[0].name == "all classes"
    assert tree[0].count == 3
    assert 2 in tree[0].classes


def test_a_circle_does_not_hang():
    circle = Hierarchy({"a": ("b",), "b": ("a",), "cat": ("a",), "dog": ("b",)}, {})
    assert class_tree(ClassSpace("odd", ("cat", "dog"), hierarchy=circle))[0].count == 2


def test_groups_stand_in_for_a_hierarchy():
    root, *groups = class_tree(cifar_10())
    assert [one.name for one in groups] == ["animals", "vehicles"]
    assert (root.branches, root.classes, root.count) == ((1, 2), (), 10)
    assert class_tree(digits()) == (Branch("all classes", (), tuple(range(10)), 10),)


@pytest.mark.parametrize("space", [imagenet_1k(), imagenet_a()], ids=lambda one: one.name)
def test_every_class_can_be_reached_and_counts_are_right(space):
    tree = class_tree(space)
    below: dict[int, frozenset[int]] = {}

    def classes(number):
        if number not in below:
            one = tree[number]
            below[number] = frozenset(one.classes).union(*(classes(each) for each in one.branches))
        return below[number]

    assert classes(0) == frozenset(range(len(space)))
    assert all(len(classes(number)) == one.count >= 2 for number, one in enumerate(tree))
    assert set(below) == set(range(len(tree)))
