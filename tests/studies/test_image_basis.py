"""Aligning models on the images that are scored for all of them."""

import numpy as np
import pytest

from regrade.core import ClassMap, ClassSpace, InputError, MapRule, Predictions, TestSet
from regrade.studies import Scoring, same_images
from regrade.studies.compare.analysis import compare

SPACE = ClassSpace("three", ("a", "b", "c"))
SET = TestSet("set", SPACE, ("1", "2", "3", "4"), np.array([0, 1, 2, 0]))


def model(name, top1, space=SPACE):
    return Predictions(name, "set", space.name, np.array(top1)[:, None])


def test_predictions_and_correctness():
    aligned = same_images(SET, ((model(m, p), Scoring(SET)) for m, p in (("x", [0, 1, 0, -1]), ("y", [0, 0, 2, 0]))))
    assert aligned.models == ("x", "y")
    assert aligned.correct.tolist() == [[True, True, False, False], [True, False, True, True]]
    assert aligned.classes.tolist() == [[0, 1, 0, -1], [0, 0, 2, 0]]
    assert aligned.classes.dtype == np.int16
    assert (aligned.basis.images, aligned.basis.notes, aligned.novel.tolist()) == (4, (), [0, 0])


def test_image_not_scored_for_one_model_is_left_out():
    """One model has its own class space without a class for c: the third image is left out for both."""
    own_space = ClassSpace("other", ("aa", "bb"))
    chart = ClassMap(own_space, SPACE, ((0,), (1,), ()), MapRule.ANY_IN_TOP_K)
    pairs = [(model("x", [0, 1, 2, 1]), Scoring(SET)), (model("y", [0, 0, 0, 0], own_space), Scoring(SET, chart))]
    aligned = same_images(SET, iter(pairs))
    assert aligned.correct.tolist() == [[True, True, False], [True, False, True]]
    assert aligned.images.tolist() == [0, 1, 3]
    assert aligned.class_spaces == ("three", "other")
    assert "only the images that count for every model" in aligned.basis.notes
    assert compare(SET, iter(pairs)).basis.images == 3


def test_many_classes_use_a_larger_integer_type():
    many = ClassSpace("many", tuple(f"c{i}" for i in range(40_000)))
    large = TestSet("set", many, ("1", "2"), np.array([0, 39_999]))
    rows = [(model(name, [0, 39_999], many), Scoring(large)) for name in "xy"]
    assert same_images(large, iter(rows)).classes.tolist() == [[0, 39_999]] * 2


def test_one_model_is_rejected():
    with pytest.raises(InputError, match="at least two models, got 1"):
        same_images(SET, [(model("x", [0, 0, 0, 0]), Scoring(SET))])
