import pytest

from regrade.core import ClassMap, ClassSpace, InputError, MapRule, UnknownName, subset_map

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
