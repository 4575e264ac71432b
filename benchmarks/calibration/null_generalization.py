"""Null checks of the findings of `study generalization`: the same models on samples of the same distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchmarks.calibration.checks import null_check
from benchmarks.calibration.households import correct_in_households, households
from benchmarks.calibration.worlds import correct_predictions, counted
from regrade.core import PERSON_PREFIX
from regrade.core.arrays import FloatArray
from regrade.studies import Generalization, ModelCounts, SetPair
from regrade.studies.generalization.analysis import generalization

_CHANGE = ("generalization: models lose or gain", "generalization: gains shrink", "generalization: off the line")


@null_check(*_CHANGE, case="no shift, 8 models, 1,000 images")
def few_models(rng: np.random.Generator) -> Generalization:
    return no_shift(rng, models=8, images=1_000)


@null_check(*_CHANGE, case="no shift, 60 models, 2,000 images")
def many_models(rng: np.random.Generator) -> Generalization:
    return no_shift(rng, models=60, images=2_000)


@null_check(*_CHANGE, case="no shift, 10 models, 4 new sets of 500 images")
def many_sets(rng: np.random.Generator) -> Generalization:
    return no_shift(rng, models=10, images=500, sets=4)


@null_check(*_CHANGE, case="no shift, 30 models, 4 new sets of 2,000 images")
def many_models_and_sets(rng: np.random.Generator) -> Generalization:
    return no_shift(rng, models=30, images=2_000, sets=4)


@null_check(*_CHANGE, case="no shift, 8 models, 60 households of 1 to 8 images on each set")
def households_without_shift(rng: np.random.Generator) -> Generalization:
    return no_shift_of_households(rng, models=8, count=60)


@null_check(*_CHANGE, case="no shift, 30 models, 300 households of 1 to 8 images on each set")
def many_households_without_shift(rng: np.random.Generator) -> Generalization:
    return no_shift_of_households(rng, models=30, count=300)


@null_check("generalization: models lose or gain", case="no shift on average, 3 models, 4 new sets of 10,000 images")
def no_shift_on_average(rng: np.random.Generator) -> Generalization:
    """Each model gains or loses at random on each new set."""
    accuracies = rng.uniform(0.55, 0.85, 3)
    return studied(rng, accuracies, list(accuracies + rng.normal(0, 0.05, (4, 3))), images=10_000)


@null_check("generalization: gains carry over", case="a slope of 0.99, 30 models, 2,000 images")
def shrinking_gains(rng: np.random.Generator) -> Generalization:
    return shrunk(rng, sets=1)


@null_check("generalization: gains carry over", case="slopes of 0.99, 30 models, 4 new sets of 2,000 images")
def shrinking_gains_on_many_sets(rng: np.random.Generator) -> Generalization:
    return shrunk(rng, sets=4)


_PEOPLE = "generalization: people off the line"


@null_check(_PEOPLE, case="no shift, 12 models, 4 people, 300 images")
def people_like_models(rng: np.random.Generator) -> Generalization:
    return with_people(rng, models=12, people=4, new_sets=1)


@null_check(_PEOPLE, case="no shift, 40 models, 2 people, 3 new sets of 300 images")
def people_like_models_on_many_sets(rng: np.random.Generator) -> Generalization:
    return with_people(rng, models=40, people=2, new_sets=3)


@null_check(*_CHANGE, case="no shift, 20 models, a tenth of the new predictions unjudged")
def unjudged_predictions(rng: np.random.Generator) -> Generalization:
    """A tenth of the correct predictions on the new set are not judged by anyone, and count as wrong."""
    accuracies = rng.uniform(0.55, 0.85, 20)
    original, new = (counted(name, correct_predictions(rng, accuracies, images=2_000)) for name in ("original", "new"))
    models = {name: _unjudged(rng, counts) for name, counts in new.models.items()}
    return generalization([SetPair(original, replace(new, models=models))], rng=rng, band_points=0)


def _unjudged(rng: np.random.Generator, counts: ModelCounts) -> ModelCounts:
    novel = int(rng.binomial(counts.right, 0.1))
    return replace(counts, right=counts.right - novel, novel=novel)


def with_people(rng: np.random.Generator, *, models: int, people: int, new_sets: int) -> Generalization:
    """Models and people on the same images, with accuracies that do not depend on the set."""
    accuracies, skills = rng.uniform(0.55, 0.85, models), rng.uniform(0.6, 0.8, people)
    sets = []
    for number in range(new_sets + 1):
        correct = correct_predictions(rng, [*accuracies, *skills], images=300)
        counts = counted(f"set {number}", correct[:models])
        answered = {
            f"{PERSON_PREFIX}{person}": ModelCounts(int(row.sum()), len(row))
            for person, row in enumerate(correct[models:])
        }
        sets.append(replace(counts, models={**counts.models, **answered}))
    return generalization([SetPair(sets[0], each) for each in sets[1:]], rng=rng, band_points=0)


def shrunk(rng: np.random.Generator, *, sets: int) -> Generalization:
    """Thirty models whose differences are 1% smaller on new sets."""
    accuracies = rng.uniform(0.55, 0.85, 30)
    return studied(rng, accuracies, [0.7 + 0.99 * (accuracies - 0.7)] * sets, images=2_000)


def no_shift(rng: np.random.Generator, *, models: int, images: int, sets: int = 1) -> Generalization:
    """Models of different accuracies on an original and on ``sets`` new samples of the same distribution."""
    accuracies = rng.uniform(0.55, 0.85, models)
    return studied(rng, accuracies, [accuracies] * sets, images=images)


def no_shift_of_households(rng: np.random.Generator, *, models: int, count: int) -> Generalization:
    """Models of different accuracies on two samples of households, whose images are alike."""
    accuracies, sets = rng.uniform(0.55, 0.85, models), []
    for name in ("original", "new"):
        clusters = households(rng, count)
        sets.append(counted(name, correct_in_households(rng, accuracies, clusters), clusters))
    return generalization([SetPair(*sets)], rng=rng, band_points=0)


def studied(
    rng: np.random.Generator, accuracies: FloatArray, new_accuracies: Sequence[FloatArray], *, images: int
) -> Generalization:
    """The study of models with these accuracies (m,) on an original and on each new test set."""
    original = counted("original", correct_predictions(rng, accuracies, images=images))
    new = [
        counted(f"new {number}", correct_predictions(rng, each, images=images))
        for number, each in enumerate(new_accuracies, start=1)
    ]
    return generalization([SetPair(original, each) for each in new], rng=rng, band_points=0)
