"""Null checks of the findings of `study generalization`: the same models on two samples of the same kind of image."""

from __future__ import annotations

import numpy as np

from benchmarks.calibration.checks import null_check
from benchmarks.calibration.worlds import correct_answers, counted
from regrade.studies import Generalization, SetPair, generalization

_CHANGE = ("generalization: models lose or gain", "generalization: gains shrink", "generalization: off the line")


@null_check(*_CHANGE, case="no shift, 8 models, 1,000 images")
def few_models(rng: np.random.Generator) -> Generalization:
    return no_shift(rng, models=8, images=1_000)


@null_check(*_CHANGE, case="no shift, 60 models, 2,000 images")
def many_models(rng: np.random.Generator) -> Generalization:
    return no_shift(rng, models=60, images=2_000)


@null_check("generalization: gains carry over", case="slope just below 1, 30 models, 2,000 images")
def shrinking_gains(rng: np.random.Generator) -> Generalization:
    """The new set is a little less sensitive to ability, which makes the slope 0.97 to 0.99."""
    abilities = rng.uniform(0.5, 1.5, 30)
    pair = (
        counted("original", correct_answers(rng, abilities, images=2_000)),
        counted("new", correct_answers(rng, abilities, images=2_000, shared_difficulty=1.05)),
    )
    return generalization([SetPair(*pair)], rng=rng, band_points=0)


def no_shift(rng: np.random.Generator, *, models: int, images: int) -> Generalization:
    """Models of different abilities on two samples of one kind of image."""
    abilities = rng.uniform(0.3, 1.7, models)
    original, new = (counted(name, correct_answers(rng, abilities, images=images)) for name in ("original", "new"))
    return generalization([SetPair(original, new)], rng=rng, band_points=0)
