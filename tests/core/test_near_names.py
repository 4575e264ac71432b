"""Names that are almost surely another name."""

import pytest

from regrade.core.near_names import misspelling, near_miss

STATES = ("correct", "unclear", "wrong")


@pytest.mark.parametrize("name", ["corect", "Correct", "correct ", "correct_labels", "corrrect", "correcT"])
def test_near_miss_finds_a_misspelled_name(name):
    assert near_miss(name, STATES) == "correct"


@pytest.mark.parametrize("name", ["", "right", "width", "incorrectness of all", "annotator", "wr"])
def test_near_miss_leaves_other_names_alone(name):
    assert near_miss(name, STATES) is None


def test_near_miss_of_nothing_is_none():
    assert near_miss("correct", ()) is None


def test_misspelling_leaves_short_and_longer_names_alone():
    usual = ("id", "top1", "pred", "prediction")
    names = ("predicton", "Predictions", "prediction_vit", "idx", "top", "resnet50", "vit")
    assert [misspelling(name, usual) for name in names] == ["prediction", "prediction", None, None, "top1", None, None]
