"""Null checks of the findings of `study generalization`: the same models on samples of the same distribution."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.calibration.checks import null_check
from benchmarks.calibration.worlds import correct_predictions, counted
from regrade.core.arrays import FloatArray
from regrade.studies import Generalization, SetPair
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


def shrunk(rng: np.random.Generator, *, sets: int) -> Generalization:
    """Thirty models whose differences are 1% smaller on new sets."""
    accuracies = rng.uniform(0.55, 0.85, 30)
    return studied(rng, accuracies, [0.7 + 0.99 * (accuracies - 0.7)] * sets, images=2_000)


def no_shift(rng: np.random.Generator, *, models: int, images: int, sets: int = 1) -> Generalization:
    """Models of different accuracies on an original and on ``sets`` new samples of the same distribution."""
    accuracies = rng.uniform(0.55, 0.85, models)
    return studied(rng, accuracies, [accuracies] * sets, images=images)


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
