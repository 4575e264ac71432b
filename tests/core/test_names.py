"""Recognizing misspelled names."""

import pytest

from regrade.core.names import misspelling, near_miss

STATES = ("correct", "unclear", "wrong")


@pytest.mark.parametrize("name", ["corect", "Correct", "correct ", "correct_labels", "corrrect", "correcT"])
def test_near_miss_finds_a_misspelled_name(name):
    assert near_miss(name, STATES) == "correct"


@pytest.mark.parametrize("name", ["", "right", "width", "incorrectness of all", "annotator", "wr"])
def test_near_miss_ignores_other_names(name):
    assert near_miss(name, STATES) is None


def test_near_miss_without_candidates_is_none():
    assert near_miss("correct", ()) is None


def test_misspelling_ignores_short_and_longer_names():
    usual = ("id", "top1", "pred", "prediction")
    names = ("predicton", "Predictions", "prediction_vit", "idx", "top", "resnet50", "vit")
    assert [misspelling(name, usual) for name in names] == ["prediction", "prediction", None, None, "top1", None, None]
