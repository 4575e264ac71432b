"""Comparisons with novel predictions, slices and review decisions."""

import json

import numpy as np
import pytest

from regrade.core import ClassSpace, InputError, LabelSet, LabelState, NovelSample, Predictions, TestSet, Unlisted
from regrade.metrics import MultilabelRule
from regrade.studies import Basis, MultilabelScoring, ReviewedLabels, Scoring, compare_correctness
from regrade.studies.compare.analysis import compare

SPACE = ClassSpace("four", ("a", "b", "c", "d"), groups={"ab": (0, 1)})
IMAGES = 40
SET = TestSet("set", SPACE, tuple(str(i) for i in range(IMAGES)), np.arange(IMAGES) % 4)


def predictions(model: str, classes: np.ndarray) -> tuple[Predictions, Scoring]:
    return Predictions(model, "set", "four", classes[:, None].astype(np.int32)), Scoring(SET)


def labels(rule: MultilabelRule = MultilabelRule.IMAGES, review: NovelSample | None = None) -> ReviewedLabels:
    """Only the original label of each image is judged, as correct."""
    own = LabelSet(
        "own", 1, "set", 4, np.arange(IMAGES), np.asarray(SET.labels), np.full(IMAGES, LabelState.CORRECT),
        np.ones(IMAGES, dtype=bool), ("",) * IMAGES, Unlisted.NOVEL,
    )  # fmt: skip
    return ReviewedLabels(MultilabelScoring(own, rule), review)


RIGHT = np.asarray(SET.labels)
HALF = np.where(np.arange(IMAGES) < 20, RIGHT, (RIGHT + 1) % 4)


def test_novel_predictions_are_counted_with_their_possible_effect():
    result = compare(SET, [predictions("good", RIGHT), predictions("half", HALF)], labels=labels())
    (pair,) = result.pairs
    assert [(rank.model, rank.novel) for rank in result.ranks] == [("good", 0), ("half", 20)]
    assert (pair.difference.value, pair.lowest, pair.highest) == (0.5, 0.0, 0.5)
    assert "good is ahead of half" in pair.in_words(0.05) and "could reverse it" in pair.in_words(0.05)
    assert any("no one has judged" in note for note in result.basis.notes)
    assert "novel" in [column.key for column in result.rank_table().columns]


def test_lead_that_no_judgment_can_reverse_is_stated():
    most = np.where(np.arange(IMAGES) < 30, RIGHT, (RIGHT + 1) % 4)
    few = np.where(np.arange(IMAGES) < 2, RIGHT, RIGHT)
    few = np.where(np.arange(IMAGES) < 2, (RIGHT + 1) % 4, few)
    judged = labels()
    wrong = LabelSet(
        "own", 1, "set", 4, np.repeat(np.arange(IMAGES), 2), np.stack([RIGHT, (RIGHT + 1) % 4], 1).ravel(),
        np.tile([LabelState.CORRECT, LabelState.WRONG], IMAGES), np.ones(IMAGES, dtype=bool), ("",) * IMAGES,
        Unlisted.NOVEL,
    )  # fmt: skip
    novel = few.copy()
    novel[0] = (RIGHT[0] + 2) % 4  # the only prediction no one has judged
    reviewed = ReviewedLabels(MultilabelScoring(wrong, judged.scoring.rule))
    result = compare(SET, [predictions("ahead", novel), predictions("behind", most)], labels=reviewed)
    (pair,) = result.pairs
    assert pair.lowest > 0 and pair.highest > pair.lowest
    assert pair.in_words(0.05).endswith("however the novel predictions are judged")


def test_review_decisions_count():
    rows = np.arange(20, 40)
    frame = NovelSample(
        "set", "own@1", 4, rows, HALF[rows], np.zeros(20, int), np.arange(20), np.zeros(20),
        np.full(20, LabelState.CORRECT), "votes", drawn=20,
    )  # fmt: skip
    result = compare(SET, [predictions("good", RIGHT), predictions("half", HALF)], labels=labels(review=frame))
    assert result.pairs[0].difference.value == 0
    assert [rank.novel for rank in result.ranks] == [0, 0]


def test_slice_rule_and_labels_are_part_of_the_result():
    pair = [predictions("good", RIGHT), predictions("half", HALF)]
    result = compare(SET, pair, labels=labels(MultilabelRule.CLASSES), slice_name="ab")
    content = json.loads(json.dumps(result.as_dict()))
    assert (content["slice"], content["rule"], content["labels"], content["images"]) == ("ab", "classes", "own", 20)
    assert result.table().title == "pairs on set, slice ab against own@1, in %"
    assert any("over images" in note for note in content["notes"])


def test_sentence_agrees_with_the_exact_test():
    """The score interval alone would exclude 0, but the exact test does not reject: the interval shown contains 0."""
    correct = np.zeros((2, 100), dtype=bool)
    correct[0, :14] = True
    correct[1, 14:19] = True
    (pair,) = compare_correctness(("a", "b"), correct, basis=Basis("set", 100)).pairs
    assert pair.difference.low == 0 and pair.holm > 0.05
    assert pair.in_words(0.05).startswith("no difference detected between a and b on 100 images")
    assert pair.result == "no difference detected"
    assert "between 0.00 points behind and 18.08 ahead" in pair.in_words(0.05)


def test_tiny_p_value_is_not_shown_as_zero():
    correct = np.zeros((2, 5000), dtype=bool)
    correct[0] = True
    result = compare_correctness(("a", "b"), correct, basis=Basis("set", 5000))
    assert result.pairs[0].p_values.exact == 0
    assert "< 1e-300" in result.table().texts()[0]


def test_str_is_the_table():
    result = compare(SET, [predictions("good", RIGHT), predictions("half", HALF)])
    assert str(result) == repr(result) == str(result.table())
    assert "good is ahead of half" in str(result)


def test_one_model_is_rejected():
    with pytest.raises(InputError, match="at least two models, got 1"):
        compare(SET, [predictions("good", RIGHT)])
