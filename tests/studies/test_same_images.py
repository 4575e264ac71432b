"""Models side by side: only on images that count for each of them."""

import numpy as np
import pytest

from regrade.core import ClassMap, ClassSpace, InputError, MapRule, Predictions, TestSet
from regrade.studies import Scoring, compare, same_images

SPACE = ClassSpace("three", ("a", "b", "c"))
SET = TestSet("set", SPACE, ("1", "2", "3", "4"), np.array([0, 1, 2, 0]))


def model(name, top1, space=SPACE):
    return Predictions(name, "set", space.name, np.array(top1)[:, None])


def test_what_each_has_right_and_what_it_answers():
    found = same_images(SET, ((model(m, p), Scoring(SET)) for m, p in (("x", [0, 1, 0, -1]), ("y", [0, 0, 2, 0]))))
    assert found.models == ("x", "y")
    assert found.correct.tolist() == [[True, True, False, False], [True, False, True, True]]
    assert found.classes.tolist() == [[0, 1, 0, -1], [0, 0, 2, 0]]
    assert found.classes.dtype == np.int16
    assert (found.basis.images, found.basis.notes, found.novel.tolist()) == (4, (), [0, 0])


def test_images_that_do_not_count_for_one_model_count_for_none():
    """One model predicts classes of its own, none of which stands for c: image 3 is left out for both."""
    other = ClassSpace("other", ("aa", "bb"))
    chart = ClassMap(other, SPACE, ((0,), (1,), ()), MapRule.ANY_IN_TOP_K)
    pairs = [(model("x", [0, 1, 2, 1]), Scoring(SET)), (model("y", [0, 0, 0, 0], other), Scoring(SET, chart))]
    found = same_images(SET, iter(pairs))
    assert found.correct.tolist() == [[True, True, False], [True, False, True]]
    assert found.images.tolist() == [0, 1, 3]
    assert found.class_spaces == ("three", "other")
    assert "only the images that count for every model" in found.basis.notes
    assert compare(SET, iter(pairs)).basis.images == 3


def test_many_classes_need_more_bytes():
    many = ClassSpace("many", tuple(f"c{i}" for i in range(40_000)))
    large = TestSet("set", many, ("1", "2"), np.array([0, 39_999]))
    rows = [(model(name, [0, 39_999], many), Scoring(large)) for name in "xy"]
    assert same_images(large, iter(rows)).classes.tolist() == [[0, 39_999]] * 2


def test_one_model_is_not_enough():
    with pytest.raises(InputError, match="at least two models, got 1"):
        same_images(SET, [(model("x", [0, 0, 0, 0]), Scoring(SET))])
