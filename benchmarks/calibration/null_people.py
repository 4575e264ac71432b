"""Null checks of the findings of `study people`: people and models that are equally accurate."""

from __future__ import annotations

import numpy as np

from benchmarks.calibration.checks import null_check
from benchmarks.calibration.worlds import correct_predictions, equal_models, labeled_set, predicted
from regrade.core.arrays import BoolArray
from regrade.studies import People
from regrade.studies.people.analysis import people

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
