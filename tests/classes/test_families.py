"""Families and classes by words."""

import numpy as np
import pytest

from regrade.classes import cifar_10, class_by_words, class_space, digits, family, imagenet_1k, imagenet_a, superclasses
from regrade.classes.families import WORDNET_KINDS
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


@pytest.mark.parametrize(
    ("words", "index"),
    [
        ("analog clock", 409),
        ("mouse, computer mouse", 673),
        ("iron, smoothing iron", 606),
        ("plunger, plumber's helper", 731),
        ("Windsor tie", 906),
        ("television, television system", 851),
        ("monitor", 664),
    ],
)
def test_class_by_words_matches_the_whole_list(words, index):
    assert class_by_words(SPACE, words) == index


def test_every_class_but_the_two_cranes_is_found_by_its_words():
    missed = []
    for index, lemmas in enumerate(SPACE.lemmas):
        try:
            assert class_by_words(SPACE, ", ".join(lemmas)) == index
        except InputError:
            missed.append(index)
    assert missed == [134, 517]


def test_class_by_words_rejects_ambiguous_words():
    with pytest.raises(InputError, match="'crane' could mean n02012849 or n03126707 of imagenet-1k"):
        class_by_words(SPACE, "crane")


@pytest.mark.parametrize("words", ["computer mouse", "Mouse, computer mouse", "mouse", "", "banana, lemon"])
def test_class_by_words_rejects_a_part_of_the_list(words):
    with pytest.raises(UnknownName, match="unknown description of a class of imagenet-1k"):
        class_by_words(SPACE, words)


def test_class_by_words_suggests_similar_descriptions():
    with pytest.raises(UnknownName, match=r"did you mean .*digital clock"):
        class_by_words(SPACE, "digital clok")


def test_superclasses_of_imagenet_match_its_groups():
    space = imagenet_1k()
    kinds = superclasses(space)
    assert kinds.names == tuple(WORDNET_KINDS) and "67 kinds" in kinds.rule
    for place, concept in enumerate(WORDNET_KINDS.values()):
        assert np.flatnonzero(kinds.members[:, place]).tolist() == space.group(concept).tolist()
        assert kinds.members[:, place].sum() >= 2  # a superclass of one class would be useless
    assert kinds.members.any(axis=1).sum() == 814


def test_shared_superclasses():
    space = imagenet_1k()
    shared = superclasses(space).shared
    at = {name: place for place, name in enumerate(space.names)}
    assert shared[at["beagle"], at["red fox"]] and shared[at["goldfinch"], at["ostrich"]]
    assert not shared[at["beagle"], at["tabby"]] and not shared[at["beagle"], at["sports car"]]
    assert shared[at["African elephant"], at["Indian elephant"]]
    assert shared.diagonal().all() and (shared == shared.T).all()


def test_class_without_a_superclass_shares_none():
    space = imagenet_1k()
    kinds = superclasses(space)
    alone = np.flatnonzero(~kinds.members.any(axis=1))
    assert (kinds.shared[alone].sum(axis=1) == 1).all()


def test_subset_keeps_superclasses():
    space = imagenet_a()
    assert superclasses(space).members.sum() > 0 and len(superclasses(space).members) == 200


def test_superclasses_of_other_spaces_are_their_groups():
    kinds = superclasses(cifar_10())
    assert (kinds.names, kinds.rule) == (("animals", "vehicles"), "the 2 groups of cifar-10")
    assert kinds.shared[0, 1] and not kinds.shared[0, 2]
    none = superclasses(digits())
    assert none.rule == "" and none.members.shape == (10, 0)
    assert (none.shared == np.eye(10, dtype=bool)).all()
