"""People under models of annotators: by hand, against the models themselves, and what is undefined."""

import numpy as np
import pytest

from regrade.core import NO_ANSWER, Answerer, ClassSpace, Predictions, TestSet
from regrade.stats import VoteArrays, one_coin, proportion
from regrade.studies import Scoring
from regrade.studies.people.analysis import answered_images, modeled_people

ZOO = ClassSpace("zoo", ("cat", "pug", "cup"))
SET = TestSet("zoo", ZOO, tuple("abcdefghi"), np.array([0, 0, 0, 1, 1, 1, 2, 2, 2], dtype=np.int32))
GOOD = [0, 0, 0, 1, 1, 1, 2, 2, 2]
BAD = [0, 1, 2, 0, 2, 1, 0, 1, 2]


def modeled(**people):
    answers = [
        Predictions(f"person:{name}", "zoo", "zoo", np.array(row, dtype=np.int32)[:, None], by=Answerer.PERSON)
        for name, row in people.items()
    ]
    answered = answered_images(SET, [(each, Scoring(SET)) for each in answers])
    return modeled_people(answered, rng=np.random.default_rng(0))


def test_accuracies_are_those_of_the_one_coin_model_and_of_the_labels():
    rows = {"Ann": GOOD, "Bob": GOOD, "Cy": BAD}
    result = modeled(**rows)
    votes = VoteArrays(np.repeat(np.arange(9), 3), np.tile(np.arange(3), 9), np.array(list(rows.values())).T.ravel())
    accuracies = [each.accuracy.value for each in result.models.reviewers]
    assert accuracies == pytest.approx(one_coin(votes).accuracies)
    assert list(result.by_labels.values()) == [proportion(9, 9), proportion(9, 9), proportion(3, 9)]
    table = result.table("zoo")
    assert [row[0] for row in table.rows] == ["person:Ann", "person:Bob", "person:Cy"]
    assert [row[-1] for row in table.rows] == list(result.by_labels.values())
    assert "people who make the same mistakes" in table.notes[-1]


def test_people_who_share_errors_seem_accurate():
    alike = [0, 0, 1, 1, 1, 2, 2, 2, 0]  # the same three errors
    result = modeled(Ann=alike, Bob=alike, Cy=alike)
    assert all(share == proportion(6, 9) for share in result.by_labels.values())
    assert min(each.accuracy.value for each in result.models.reviewers) > 0.9


def test_images_without_an_answer_do_not_count():
    result = modeled(Ann=[NO_ANSWER, *GOOD[1:]], Bob=GOOD, Cy=BAD)
    assert result.by_labels["person:Ann"] == proportion(8, 8)
    assert [each.votes for each in result.models.reviewers] == [8, 9, 9]


def test_majority_with_careless_people_is_doubted():
    careless = {"Cy": [1, 2, 1, 0, 2, 0, 1, 0, 1], "Di": [1, 1, 2, 2, 0, 2, 0, 1, 0]}  # always wrong
    result = modeled(Ann=GOOD, Bob=GOOD, Ed=[1, *GOOD[1:]], **careless)
    (doubted,) = result.models.disagreements
    assert (doubted.item, doubted.majority, doubted.one_coin.answer) == ("a", "pug", "cat")
    table = result.disagreement_table("zoo")
    assert table.rows[0][:2] == ("a", "pug 3, cat 2") and table.notes[0].startswith("WARNING: on 1 of 9 items")


def test_two_people_determine_no_accuracy():
    result = modeled(Ann=GOOD, Bob=BAD)
    assert {each.accuracy for each in result.models.reviewers} == {None}
    assert result.by_labels["person:Bob"] == proportion(3, 9)
    assert "no accuracies: they are not identified" in " ".join(result.table("zoo").notes)
