"""Conformal scores and thresholds: by hand, against MAPIE and a slow restatement, and their guarantee."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mapie.classification import SplitConformalClassifier
from sklearn.base import BaseEstimator, ClassifierMixin

from regrade.core import InputError, UndefinedError
from regrade.metrics import (
    RAPS_FREE,
    aps_scores,
    conformal_rank,
    conformal_threshold,
    label_places,
    lac_scores,
    ordered_aps_scores,
    rank_penalties,
    raps_scores,
)

CLASSES, IMAGES, SEED = 5, 200, 0


class GivenProbabilities(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose inputs are its probabilities."""

    classes_ = np.arange(CLASSES)

    def predict_proba(self, inputs):
        return inputs

    def predict(self, inputs):
        return inputs.argmax(axis=1)

    def __sklearn_is_fitted__(self):
        return True


@pytest.fixture(scope="module")
def images():
    """Probabilities of calibration and of new images, and the labels of the former."""
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.full(CLASSES, 0.5), 2 * IMAGES)
    labels = np.array([rng.choice(CLASSES, p=row) for row in probabilities])
    return probabilities[:IMAGES], labels[:IMAGES], probabilities[IMAGES:]


@pytest.mark.parametrize("miss", [0.05, 0.1, 0.3])
@pytest.mark.parametrize("name", ["lac", "aps"])
def test_conformal_sets_match_mapie(images, name, miss):
    calibration, labels, new = images
    # the random numbers that MAPIE draws at each step; it subtracts that share of the probability
    draws = 1 - np.random.RandomState(SEED).uniform(size=IMAGES)
    mapie = SplitConformalClassifier(
        GivenProbabilities(), confidence_level=1 - miss, conformity_score=name, random_state=SEED
    ).conformalize(calibration, labels)
    _, expected = mapie.predict_set(new, conformity_score_params={"include_last_label": "randomized"})
    scores = {"lac": lac_scores, "aps": lambda p: aps_scores(p, draws)}[name]
    threshold = conformal_threshold(scores(calibration)[np.arange(IMAGES), labels], miss=miss)
    np.testing.assert_array_equal(scores(new) <= threshold, expected[:, :, 0])


def test_aps_and_raps_scores_match_a_slow_restatement():
    rng = np.random.default_rng(1)
    probabilities, draws = rng.dirichlet(np.ones(9), 30), rng.random(30)
    probabilities[0] = 1 / 9  # equal probabilities: in the order of the classes
    aps, raps = aps_scores(probabilities, draws), raps_scores(probabilities, draws, penalty=0.2)
    for row, draw, aps_row, raps_row in zip(probabilities, draws, aps, raps, strict=True):
        ranking = sorted(range(9), key=lambda place: (-row[place], place))
        for rank, place in enumerate(ranking, start=1):
            expected = sum(row[better] for better in ranking[: rank - 1]) + draw * row[place]
            assert aps_row[place] == pytest.approx(expected)
            assert raps_row[place] == pytest.approx(expected + 0.2 * max(rank - RAPS_FREE, 0))


def test_ordered_scores_at_the_places_of_labels_are_those_of_all_classes():
    rng = np.random.default_rng(2)
    probabilities = rng.integers(0, 4, (50, 9)).astype(np.float32)  # with many ties
    probabilities[:, 0] += 1
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    draws, labels, each = rng.random(50), rng.integers(0, 9, 50), np.arange(50)
    ordered, places = ordered_aps_scores(probabilities, draws), label_places(probabilities, labels)
    np.testing.assert_array_equal(ordered[each, places], aps_scores(probabilities, draws)[each, labels])
    raps = ordered + rank_penalties(9)
    np.testing.assert_array_equal(raps[each, places], raps_scores(probabilities, draws)[each, labels])


def test_conformal_threshold_by_hand():
    """Of 19 scores and 10% misses, the ceil(20 * 0.9) = 18th; of 8, the 9th does not exist."""
    assert conformal_threshold(np.arange(19.0)[::-1]) == 17.0
    assert conformal_threshold(np.arange(8.0)) == np.inf


@given(st.integers(1, 10**6), st.integers(1, 99))
def test_conformal_rank_is_exact_for_percentages(images, percent):
    assert conformal_rank(images, percent / 100) == -(-(images + 1) * (100 - percent) // 100)


def test_conformal_threshold_covers_the_label_of_the_next_image():
    """Over all orders of n + 1 exchangeable scores, the last is covered in exactly ceil((n + 1)(1 - miss)) of n + 1."""
    scores = np.random.default_rng(0).random(30)
    covered = [conformal_threshold(np.delete(scores, last), miss=0.2) >= scores[last] for last in range(30)]
    assert np.mean(covered) == 24 / 30


def test_conformal_threshold_rejects_impossible_input():
    with pytest.raises(InputError, match="between 0 and 1, got 1"):
        conformal_threshold(np.ones(3), miss=1.0)
    with pytest.raises(UndefinedError, match="at least one calibration image"):
        conformal_threshold(np.ones(0))
