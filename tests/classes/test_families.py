"""Families of classes by word."""

import pytest

from regrade.classes import class_space, family
from regrade.core import ClassSpace, InputError, UnknownName

SPACE = class_space("imagenet-1k")


def test_family_prefers_groups():
    assert family(SPACE, "dogs").tolist() == SPACE.group("dogs").tolist()
    own = ClassSpace("own", ("a", "b"), groups={"a": (1,)})
    assert family(own, "a").tolist() == [1]


@pytest.mark.parametrize(
    ("word", "size", "member"),
    [
        ("insect", 27, "n02165105"),  # a group by its singular, a superclass
        ("terrier", 26, "n02093428"),  # a word of WordNet
        ("Canis familiaris", 118, "n02085620"),
        ("wheeled vehicle", 44, "n02701002"),
        ("wheeled vehicles", 44, "n02701002"),
        ("n02159955", 27, "n02165105"),
        ("tench", 1, "n01440764"),
        ("n01440764", 1, "n01440764"),
    ],
)
def test_family_by_word(word, size, member):
    classes = family(SPACE, word)
    assert len(classes) == size
    assert SPACE.index(member) in classes
    assert (classes[1:] > classes[:-1]).all()


def test_family_rejects_ambiguous_words():
    with pytest.raises(InputError, match="is ambiguous: give one of n02012849, n03126707"):
        family(SPACE, "crane")


def test_family_suggests_similar_words():
    with pytest.raises(UnknownName, match="did you mean insects"):
        family(SPACE, "insekts")
    with pytest.raises(UnknownName, match="unknown family of digits 'dogs'"):
        family(class_space("digits"), "dogs")


def test_family_without_groups_or_hierarchy():
    assert family(class_space("digits"), "3").tolist() == [3]
