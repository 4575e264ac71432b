import pytest

from regrade.core import Hierarchy, InputError

#       thing
#      /     \
#   animal   gift
#     |     /
#    pet --+        (pet: animal first, gift second)
#     |
#    dog
DIAMOND = Hierarchy(
    parents={"dog": ("pet",), "pet": ("animal", "gift"), "animal": ("thing",), "gift": ("thing",)},
    lemmas={},
)
SHORTCUT = Hierarchy(parents={"a": ("b", "d"), "b": ("c",), "c": ("d",)}, lemmas={})


def test_ancestors_are_all_concepts_above_with_their_steps():
    assert DIAMOND.ancestors("dog") == {"dog": 0, "pet": 1, "animal": 2, "gift": 2, "thing": 3}


def test_ancestors_use_the_fewest_steps():
    assert SHORTCUT.ancestors("a") == {"a": 0, "b": 1, "d": 1, "c": 2}


def test_the_first_path_follows_first_parents_only():
    assert DIAMOND.first_path_ancestors("dog") == {"dog": 0, "pet": 1, "animal": 2, "thing": 3}
    assert SHORTCUT.first_path_ancestors("a") == {"a": 0, "b": 1, "c": 2, "d": 3}


def test_paths_go_from_the_root_down_the_first_parents_path_first():
    assert DIAMOND.paths("dog") == (("thing", "animal", "pet", "dog"), ("thing", "gift", "pet", "dog"))


def test_a_concept_without_parents_is_its_own_root():
    assert DIAMOND.paths("stone") == (("stone",),)
    assert DIAMOND.ancestors("stone") == {"stone": 0}
    assert DIAMOND.first_path_ancestors("stone") == {"stone": 0}


def test_paths_rejects_a_cycle():
    circle = Hierarchy(parents={"a": ("b",), "b": ("a",)}, lemmas={})
    assert circle.ancestors("a") == {"a": 0, "b": 1}
    assert circle.first_path_ancestors("a") == {"a": 0, "b": 1}
    with pytest.raises(InputError, match="cycle through 'a'"):
        circle.paths("a")
