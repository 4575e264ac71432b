"""Coverage of gaps between test sets in `study people`: of one person, of the mean of people, and of their lead."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import special

from benchmarks.calibration.checks import coverage_check, repeated
from regrade.core import Estimate
from regrade.core.arrays import BoolArray
from regrade.studies import Contender
from regrade.studies.people.sets import _mean, _Sample

_SKILLS = np.array([0.95, 0.9, 0.85])
_SPREAD = 1.0  # of the difficulty of images


def answers(rng: np.random.Generator, images: int, *, harder: float = 0.0) -> BoolArray:
    """Correctness (3, n) of three people or models whose errors are on the same images; higher skills err less."""
    difficulty = _SPREAD * rng.standard_normal(images)
    skills = special.ndtri(_SKILLS - harder) * np.hypot(1, _SPREAD)
    return skills[:, None] > difficulty + rng.standard_normal((3, images))


def gap_of_one(rng: np.random.Generator, *, images: int, harder: float) -> Estimate:
    first, second = (_alone(answers(rng, images, harder=each)[:1]) for each in (0.0, harder))
    return first.minus(second, 0.95)


def gap_of_mean(rng: np.random.Generator, *, images: int, harder: float) -> Estimate:
    first, second = (_together(answers(rng, images, harder=each)) for each in (0.0, harder))
    return first.minus(second, 0.95)


def gap_of_lead(rng: np.random.Generator, *, images: int, harder: float) -> Estimate:
    """The models find the new set harder, the people do not."""
    first, second = (_lead(answers(rng, images), answers(rng, images, harder=each)) for each in (0.0, harder))
    return first.minus(second, 0.95)


def _alone(right: BoolArray) -> _Sample:
    return _Sample(Contender.PERSON, right, _shown(float(right.mean()), right.shape[1]))


def _together(right: BoolArray) -> _Sample:
    return _Sample(Contender.MEAN, right, _shown(float(right.mean()), right.shape[1]))


def _lead(people: BoolArray, models: BoolArray) -> _Sample:
    lead = people.mean(axis=0) - models.mean(axis=0)
    return _Sample(Contender.LEAD, lead[None], _mean(lead, None, 0.95))


def _shown(value: float, images: int) -> Estimate:
    return Estimate(value, 0.0, 1.0, images, "")


_GAPS: dict[str, tuple[Callable[..., Estimate], str, float]] = {
    "gap between test sets, one person": (gap_of_one, "studies.people.sets.minus", 1),
    "gap between test sets, mean of people": (gap_of_mean, "stats.independent.difference_of_samples", 1),
    "gap between test sets, lead of people": (gap_of_lead, "stats.independent.difference_of_samples", -1),
}

for name, (gap, maker, sign) in _GAPS.items():
    for size in (60, 1_000):
        draw = repeated(partial(gap, images=size, harder=0.05), sign * 0.05)
        coverage_check(name, maker=maker, case="5 points harder", n=size, draw=draw)
