"""Concepts around classes: parsed from WordNet's file of nouns, by hand and as installed."""

import pytest

from regrade.classes import Surroundings, concepts_around, definitions, wordnet_nouns
from regrade.classes.vocabulary import parsed_nouns
from regrade.core import ClassSpace, Hierarchy, InputError

NOUNS = """  1 This software and database is being provided to you, the LICENSEE
00001740 03 n 01 entity 0 001 ~ 02512053 n 0000 | that which is
02512053 05 n 01 fish 0 002 @ 00001740 n 0000 ~ 02526121 n 0000 | any of various
02526121 05 n 02 eel 0 sea_eel 0 001 @ 02512053 n 0000 | voracious snakelike fishes
01482330 05 n 01 shark 0 001 @ 02512053 n 0000 | any of numerous
11223344 18 n 01 Moby_Fish 0 001 @i 02512053 n 0000 | a single fish
"""
FISH, EEL, SHARK = "n02512053", "n02526121", "n01482330"


def test_nouns_have_parents_and_words_and_no_instances():
    nouns = parsed_nouns(NOUNS)
    assert dict(nouns.parents) == {"n00001740": (), FISH: ("n00001740",), EEL: (FISH,), SHARK: (FISH,)}
    assert nouns.lemmas[EEL] == ("eel", "sea eel")


def test_concepts_around_are_classes_siblings_and_ancestors_up_to_a_superclass():
    """Fish is a superclass (n02512053): it is proposed, entity above it is not."""
    assert concepts_around(ClassSpace("one", (SHARK,)), parsed_nouns(NOUNS)) == (SHARK, EEL, FISH)


def test_class_outside_wordnet_raises():
    with pytest.raises(InputError, match="1 classes of one are no concepts of WordNet, such as 'cat'"):
        concepts_around(ClassSpace("one", ("cat",)), parsed_nouns(NOUNS))


def test_siblings_over_several_parents():
    around = Surroundings(Hierarchy({"a": ("p", "q"), "b": ("p",), "c": ("q",), "d": ()}, {}))
    assert around.siblings("a") == ["b", "c"] and around.siblings("d") == []


def test_wordnet_is_read_from_its_folder(tmp_path, monkeypatch):
    (tmp_path / "data.noun").write_text(NOUNS)
    monkeypatch.setattr("regrade.classes.vocabulary.wordnet_folder", lambda: tmp_path)
    assert EEL in wordnet_nouns().parents


def test_missing_wordnet_raises(monkeypatch):
    monkeypatch.setattr(definitions, "_SYSTEM_WORDNET", definitions.Path("/nowhere"))
    monkeypatch.delenv("REGRADE_WORDNET", raising=False)
    monkeypatch.delenv("WNHOME", raising=False)
    with pytest.raises(InputError, match="set REGRADE_WORDNET"):
        wordnet_nouns()
