"""Descriptions of classes, as ILSVRC and ObjectNet write them."""

import pytest

from regrade.classes import class_by_words, imagenet_1k
from regrade.core import InputError, UnknownName

SPACE = imagenet_1k()


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
