"""The class tree."""

import pytest

from regrade.app.class_index import Branch, class_tree
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
    hierarchy=Hierarchy(PARENTS, {concept: (f"a {concept}",) for concept in PARENTS}),
)


def test_class_tree_skips_single_child_concepts():
    assert class_tree(SMALL) == (
        Branch("a thing", (1,), (3,), 4),
        Branch("a animal", (2, 3), (), 3),
        Branch("a kin", (), (1, 0), 2),
        Branch("a pet", (), (2, 1), 2),
    )


def test_class_tree_lists_a_class_below_its_own_concept():
    space = ClassSpace("both", ("pet", "cat", "dog"), hierarchy=SMALL.hierarchy)
    tree = class_tree(space)
    pet = next(branch for branch in tree if branch.name == "a pet")
    assert (pet.classes, pet.count) == ((1, 2, 0), 3)
    assert tree[0].count == 3


def test_class_tree_joins_several_roots_and_loose_classes():
    space = ClassSpace("loose", ("cat", "dog", "stone"), hierarchy=SMALL.hierarchy)
    tree = class_tree(space)
    assert tree[0].name == "all classes"
    assert tree[0].count == 3
    assert 2 in tree[0].classes


def test_class_tree_accepts_cycles():
    circle = Hierarchy({"a": ("b",), "b": ("a",), "cat": ("a",), "dog": ("b",)}, {})
    assert class_tree(ClassSpace("odd", ("cat", "dog"), hierarchy=circle))[0].count == 2


def test_class_tree_uses_groups_without_a_hierarchy():
    root, *groups = class_tree(cifar_10())
    assert [group.name for group in groups] == ["animals", "vehicles"]
    assert (root.branches, root.classes, root.count) == ((1, 2), (), 10)
    assert class_tree(digits()) == (Branch("all classes", (), tuple(range(10)), 10),)


@pytest.mark.parametrize("space", [imagenet_1k(), imagenet_a()], ids=lambda space: space.name)
def test_class_tree_reaches_every_class_with_right_counts(space):
    tree = class_tree(space)
    below: dict[int, frozenset[int]] = {}

    def classes(number):
        if number not in below:
            branch = tree[number]
            below[number] = frozenset(branch.classes).union(*(classes(child) for child in branch.branches))
        return below[number]

    assert classes(0) == frozenset(range(len(space)))
    assert all(len(classes(number)) == branch.count >= 2 for number, branch in enumerate(tree))
    assert set(below) == set(range(len(tree)))
