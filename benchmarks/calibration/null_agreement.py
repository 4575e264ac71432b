"""Null checks of findings on people's agreement: alpha is exactly at the threshold."""

from __future__ import annotations

import numpy as np

from benchmarks.calibration.checks import null_check
from benchmarks.calibration.coverage_agreement import answers
from regrade.core import Answerer, ClassSpace, Predictions, TestSet
from regrade.studies import People, Scoring
from regrade.studies.people.analysis import people

_AGREE, _DISAGREE = "people: they largely agree", "people: they do not agree well"
_BALANCED, _SKEWED = (0.4, 0.3, 0.2, 0.1), (0.9, 0.1)


@null_check(_AGREE, case="alpha is 0.8, 3 people, 4 classes, 100 images")
def just_not_high(rng: np.random.Generator) -> People:
    return _study(rng, images=100, people_asked=3, shares=_BALANCED, alpha=0.8)


@null_check(_AGREE, case="alpha is 0.8, 2 people, 90% of one class, 30 images")
def just_not_high_skewed(rng: np.random.Generator) -> People:
    return _study(rng, images=30, people_asked=2, shares=_SKEWED, alpha=0.8)


@null_check(_DISAGREE, case="alpha is 0.667, 3 people, 4 classes, 100 images")
def just_not_low(rng: np.random.Generator) -> People:
    return _study(rng, images=100, people_asked=3, shares=_BALANCED, alpha=0.667)


@null_check(_DISAGREE, case="alpha is 0.667, 2 people, 90% of one class, 30 images")
def just_not_low_skewed(rng: np.random.Generator) -> People:
    return _study(rng, images=30, people_asked=2, shares=_SKEWED, alpha=0.667)


def _study(
    rng: np.random.Generator, *, images: int, people_asked: int, shares: tuple[float, ...], alpha: float
) -> People:
    """The study of people whose agreement has this alpha."""
    space = ClassSpace("classes", tuple(f"class {number}" for number in range(len(shares))))
    test_set = TestSet("images", space, tuple(map(str, range(images))), rng.integers(len(shares), size=images))
    (given,) = answers(rng, 1, images=images, people=people_asked, shares=shares, kappa=alpha)
    votes = (
        Predictions(f"person:{number}", test_set.name, space.name, row[:, None], by=Answerer.PERSON)
        for number, row in enumerate(given)
    )
    return people(test_set, [(answered, Scoring(test_set)) for answered in votes], rng=rng)
