"""Names that are almost surely another name."""

import pytest

from regrade.core.near_names import near_miss

STATES = ("correct", "unclear", "wrong")


@pytest.mark.parametrize("name", ["corect", "Correct", "correct ", "correct_labels", "corrrect", "correcT"])
def test_near_miss_finds_a_misspelled_name(name):
    assert near_miss(name, STATES) == "correct"


@pytest.mark.parametrize("name", ["", "right", "width", "incorrectness of all", "annotator", "wr"])
def test_near_miss_leaves_other_names_alone(name):
    assert near_miss(name, STATES) is None


def test_near_miss_of_nothing_is_none():
    assert near_miss("correct", ()) is None
