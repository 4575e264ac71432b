"""Null checks of the findings of `study people`: people and models that are equally accurate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchmarks.calibration.checks import null_check
from benchmarks.calibration.worlds import correct_predictions, equal_models, labeled_set, predicted
from regrade.core.arrays import BoolArray, FloatArray
from regrade.studies import People, PeopleOnSets
from regrade.studies.people.analysis import answered_images, people
from regrade.studies.people.sets import people_on_sets

_AHEAD = "people: best person or best model is ahead"


@null_check(_AHEAD, "people: pairs differ", case="4 people and 6 models, all equal, 400 images")
def equal_people_and_models(rng: np.random.Generator) -> People:
    return side_by_side(rng, equal_models(rng, models=10, images=400), persons=4)


@null_check(_AHEAD, case="best person equal to the best of 6 models, 400 images")
def equal_best(rng: np.random.Generator) -> People:
    """The best person and the best model are equally accurate; the others are far behind."""
    accuracies = [0.76, 0.56, 0.56, 0.76, 0.71, 0.66, 0.61, 0.56, 0.5]
    return side_by_side(rng, correct_predictions(rng, accuracies, images=400), persons=3)


def side_by_side(rng: np.random.Generator, correct: BoolArray, *, persons: int) -> People:
    """People and models, from their correctness (m, n); the first rows are people."""
    test_set = labeled_set(correct.shape[1])
    return people(test_set, predicted(test_set, correct, people=persons), rng=rng, subsets=())


_GAPS = ("people: accuracy differs between test sets", "people: their lead over models differs between test sets")


@null_check(*_GAPS, case="4 people and 6 models, all equal, 400 and 300 images")
def equal_sets(rng: np.random.Generator) -> PeopleOnSets:
    return on_sets(rng, np.full(10, 0.75), sizes=(400, 300))


@null_check(*_GAPS, case="3 people and 5 models of different accuracy, 3 sets of 60 images")
def small_equal_sets(rng: np.random.Generator) -> PeopleOnSets:
    return on_sets(rng, np.array([0.97, 0.9, 0.85, 0.95, 0.8, 0.7, 0.6, 0.5]), sizes=(60, 60, 60), persons=3)


def on_sets(
    rng: np.random.Generator, accuracies: FloatArray, *, sizes: Sequence[int], persons: int = 4
) -> PeopleOnSets:
    """The same people and models on samples of the same distribution."""
    answered = []
    for number, size in enumerate(sizes):
        test_set = replace(labeled_set(size), name=f"set {number}")
        correct = correct_predictions(rng, accuracies, images=size)
        answered.append(answered_images(test_set, predicted(test_set, correct, people=persons), subsets=()))
    return people_on_sets(answered)
