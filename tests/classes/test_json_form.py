import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.classes import BUILT_IN, class_space, class_space_as_json, class_space_from_json
from regrade.core import ClassSpace, FormatError, Hierarchy, InputError


def everything(space):
    """All fields of a class space, for comparison."""
    fields = {field.name: getattr(space, field.name) for field in dataclasses.fields(space)}
    hierarchy = fields.pop("hierarchy")
    return fields, hierarchy and (hierarchy.parents, hierarchy.lemmas)


def through_json(space):
    return class_space_from_json(json.loads(json.dumps(class_space_as_json(space))))


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_space_round_trip(name):
    space = class_space(name)
    assert everything(through_json(space)) == everything(space)


@st.composite
def class_spaces(draw):
    ids = tuple(draw(st.lists(st.text('abc\n"é;,', min_size=1).filter(str.strip), min_size=1, max_size=5, unique=True)))
    words = st.lists(st.text(), max_size=2).map(tuple)
    indices = st.lists(st.sampled_from(range(len(ids))), unique=True).map(tuple)
    parents = {class_id: draw(st.sampled_from([(), ("above",)])) for class_id in ids}
    lemmas = draw(st.dictionaries(st.sampled_from(["above", *ids]), words))
    return ClassSpace(
        "random",
        ids,
        names=tuple(f"{class_id}!" for class_id in ids),
        lemmas=tuple(draw(words) for _ in ids),
        hierarchy=draw(st.sampled_from([None, Hierarchy(parents, lemmas)])),
        groups=draw(st.dictionaries(st.text(), indices, max_size=2)),
        collapsed=draw(st.dictionaries(st.sampled_from(range(len(ids))), indices, max_size=2)),
    )


@given(class_spaces())
def test_any_space_round_trip(space):
    assert everything(through_json(space)) == everything(space)


def test_name_and_ids_are_sufficient():
    space = class_space_from_json({"name": "two", "ids": ["a", "b"]})
    assert everything(space) == everything(ClassSpace("two", ("a", "b")))


@pytest.mark.parametrize("content", [{"ids": ["a"]}, {"name": "x"}, {"name": 1, "ids": ["a"]}])
def test_name_and_ids_are_required(content):
    with pytest.raises(FormatError):
        class_space_from_json(content)


def test_collapsed_classes_may_be_named_by_id_or_index():
    space = class_space_from_json({"name": "two", "ids": ["a", "b"], "collapsed": {"a": ["b"], "b": [0]}})
    assert space.collapsed == {0: (1,), 1: (0,)}


def test_a_collapsed_label_must_be_a_class():
    with pytest.raises(InputError, match="class id of two 'c'"):
        class_space_from_json({"name": "two", "ids": ["a", "b"], "collapsed": {"c": ["b"]}})
