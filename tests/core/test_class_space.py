import dataclasses

import numpy as np
import pytest

from regrade.classes import class_space
from regrade.core import ClassMap, ClassSpace, Hierarchy, InputError, MapRule, UnknownName, subset_map

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
PETS = ClassSpace(
    "pets",
    ("cat", "dog", "wolf", "carp"),
    names=("house cat", "hound", "gray wolf", "koi"),
    lemmas=(("house cat", "moggy"), ("hound",), ("gray wolf",), ("koi", "carp")),
    hierarchy=Hierarchy(
        parents={"cat": ("mammal",), "dog": ("canine",), "wolf": ("canine",), "canine": ("mammal",)},
        lemmas={"mammal": ("mammal",), "canine": ("canine",)},
    ),
    groups={"at home": (1, 0), "wild": (2,)},
    collapsed={1: (2,), 2: (1, 3)},
)


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


def test_names_and_lemmas_default_to_the_ids():
    space = ClassSpace("two", ("a", "b"))
    assert space.names == ("a", "b")
    assert space.lemmas == (("a",), ("b",))
    assert len(space) == 2


def test_index_goes_from_id_to_position():
    assert [PETS.index(class_id) for class_id in PETS.ids] == [0, 1, 2, 3]


def test_index_suggests_similar_ids():
    with pytest.raises(UnknownName, match="unknown class id of pets 'wolff'; did you mean wolf"):
        PETS.index("wolff")


def test_index_hints_at_the_id_of_a_name():
    with pytest.raises(UnknownName, match="this is a name of cat: use the id"):
        PETS.index("Moggy")


@pytest.mark.parametrize(
    ("name", "members"),
    [("at home", [0, 1]), ("dog", [1]), ("canine", [1, 2]), ("mammal", [0, 1, 2])],
)
def test_group_is_a_named_group_a_class_or_a_concept(name, members):
    assert PETS.group(name).tolist() == members


@pytest.mark.parametrize(
    ("name", "members"),
    [("not dog", [0, 2, 3]), ("without at home", [2, 3]), ("not not canine", [1, 2]), ("not mammal", [3])],
)
def test_the_complement_of_a_group_is_all_classes_but_these(name, members):
    assert PETS.group(name).tolist() == members


def test_a_group_that_is_named_like_a_complement_takes_precedence():
    space = dataclasses.replace(PETS, groups={"wild": (2,), "not wild": (0,)})
    assert space.group("not wild").tolist() == [0]
    assert space.group("not not wild").tolist() == [1, 2, 3]


def test_the_complement_of_an_unknown_group_raises():
    with pytest.raises(UnknownName, match="group of pets 'reptile'"):
        PETS.group("not reptile")


def test_an_unknown_group_raises():
    with pytest.raises(UnknownName, match="group of pets 'reptile'"):
        PETS.group("reptile")


def test_groups_do_not_need_a_hierarchy():
    with pytest.raises(UnknownName):
        dataclasses.replace(PETS, hierarchy=None).group("canine")


def test_subset_restricts_names_groups_and_collapsed_classes():
    subset = PETS.subset("canines", [2, 1])
    assert subset.ids == ("wolf", "dog")
    assert subset.names == ("gray wolf", "hound")
    assert subset.lemmas == (("gray wolf",), ("hound",))
    assert subset.groups == {"at home": (1,), "wild": (0,)}
    assert subset.collapsed == {1: (0,), 0: (1,)}
    assert subset.group("canine").tolist() == [0, 1]


def test_subset_drops_empty_groups_and_collapsed_classes():
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
def test_class_space_rejects_inconsistent_fields(fields, message):
    with pytest.raises(InputError, match=message):
        ClassSpace("bad", **fields)


def test_spaces_are_equal_by_name_and_ids_alone():
    assert ClassSpace("s", ("a", "b")) == ClassSpace("s", ("a", "b"), names=("x", "y"))
    assert ClassSpace("s", ("a", "b")) != ClassSpace("s", ("b", "a"))
    assert ClassSpace("s", ("a", "b")) != ClassSpace("t", ("a", "b"))


def test_digest_depends_only_on_ids_and_their_order():
    space = ClassSpace("s", ("a", "b"))
    assert space.digest == ClassSpace("t", ("a", "b"), names=("x", "y")).digest
    assert space.digest != ClassSpace("s", ("b", "a")).digest


def test_group_indices_can_index_an_array():
    assert np.arange(4)[PETS.group("canine")].tolist() == [1, 2]


SOURCE = ClassSpace("breeds", ("pug", "collie", "tabby", "carp"))
TARGET = ClassSpace("pets", ("dog", "cat", "parrot"))
ANY = MapRule.ANY_IN_TOP_K


def test_accepts_is_the_matrix_of_accepted_classes():
    class_map = ClassMap(SOURCE, TARGET, ((0, 1), (2,), ()), ANY)
    assert class_map.accepts.tolist() == [
        [True, True, False, False],
        [False, False, True, False],
        [False, False, False, False],
    ]


def test_mapped_and_scorable_skip_unmapped_classes():
    class_map = ClassMap(SOURCE, TARGET, ((1, 0), (2,), ()), ANY)
    assert class_map.mapped.tolist() == [0, 1, 2]
    assert class_map.scorable.tolist() == [True, True, False]


def test_source_class_may_map_to_several_targets():
    class_map = ClassMap(SOURCE, TARGET, ((3,), (3,), ()), ANY)
    assert class_map.mapped.tolist() == [3]


def test_class_map_requires_every_target_class():
    with pytest.raises(InputError, match="'pets' needs 3 entries, got 2"):
        ClassMap(SOURCE, TARGET, ((0,), (1,)), ANY)


@pytest.mark.parametrize("index", [-1, 4])
def test_class_map_rejects_unknown_source_classes(index):
    with pytest.raises(InputError, match="outside 'breeds'"):
        ClassMap(SOURCE, TARGET, ((index,), (), ()), ANY)


def test_subset_map_maps_each_class_to_itself():
    class_map = subset_map(SOURCE, SOURCE.subset("two", [3, 1]))
    assert class_map.sources == ((3,), (1,))
    assert class_map.rule is MapRule.WITHIN_MAPPED


def test_subset_map_requires_the_same_ids():
    with pytest.raises(UnknownName, match="class id of breeds 'dog'"):
        subset_map(SOURCE, TARGET)


def test_digest_depends_on_content_not_order():
    given = ClassMap(SOURCE, TARGET, ((0, 1), (2,), ()), ANY)
    variants = [
        ClassMap(SOURCE, TARGET, ((0, 1), (), (2,)), ANY),
        ClassMap(SOURCE, TARGET, ((0,), (1, 2), ()), ANY),
        ClassMap(SOURCE, TARGET, ((0, 1), (2,), ()), MapRule.WITHIN_MAPPED),
        ClassMap(ClassSpace("breeds", ("pug", "collie", "tabby", "cod")), TARGET, ((0, 1), (2,), ()), ANY),
        ClassMap(SOURCE, ClassSpace("pets", ("dog", "cat", "parrots")), ((0, 1), (2,), ()), ANY),
    ]
    assert len({class_map.digest for class_map in [given, *variants]}) == 6
    assert ClassMap(SOURCE, TARGET, ((1, 0, 1), (2,), ()), ANY).digest == given.digest


class TestResolve:
    SPACE = ClassSpace(
        "birds",
        ("n1", "n2", "n3", "n4"),
        ("grouse", "partridge (bird)", "crane (bird)", "crane (machine)"),
        (("grouse", "partridge", "Bonasa"), ("partridge",), ("crane",), ("crane",)),
    )

    @pytest.mark.parametrize(
        ("text", "index"),
        [("n2", 1), ("crane (bird)", 2), ("bonasa", 0), ("Crane_(Machine)", 3), ("grouse, partridge, Bonasa", 0),
         ("grouse, partridge, Bonasa: a bird: of the north", 0)],
    )  # fmt: skip
    def test_resolve_reads_ids_names_words_and_descriptions(self, text, index):
        assert self.SPACE.resolve(text) == index

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("crane", r"'crane' could be n3 \(crane \(bird\)\), n4 \(crane \(machine\)\) of birds"),
            ("partridge", "'partridge' could be n1 .*, n2 "),
            ("gruose", "unknown class id or name of birds 'gruose'; did you mean grouse"),
        ],
    )
    def test_resolve_refuses_ambiguous_and_unknown_text(self, text, words):
        with pytest.raises(InputError, match=words):
            self.SPACE.resolve(text)

    def test_resolve_all_compares_whole_lists_of_words_if_all_are_such_lists(self):
        described = ["grouse, partridge, Bonasa", "partridge"]
        assert self.SPACE.resolve_all(described) == dict(zip(described, (0, 1), strict=True))
        with pytest.raises(InputError, match="could be n1"):
            self.SPACE.resolve_all(["partridge", "Bonasa"])
        with pytest.raises(InputError, match="could be n3"):
            self.SPACE.resolve_all(["grouse, partridge, Bonasa", "crane"])

    def test_resolve_finds_every_id_and_display_name_of_imagenet(self):
        space = class_space("imagenet-1k")
        for texts in (space.ids, space.names):
            assert [space.resolve(text) for text in texts] == list(range(1000))
