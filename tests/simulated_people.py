"""Simulated people and models with known accuracy and speed, on the classes of ImageNet."""

from dataclasses import dataclass

import numpy as np

from regrade.classes import class_space
from regrade.core import Answerer, AnswerTimes, Predictions, TestSet

SPACE = class_space("imagenet-1k")


@dataclass(frozen=True)
class Skill:
    """The accuracy on dogs and on other images, and the median seconds per answer, or None for models."""

    elsewhere: float
    dogs: float
    seconds: float | None = None


def test_set(images: int = 1000, *, name: str = "sim") -> TestSet:
    """A test set that goes through all classes in a mixed order, one image per class, and then again."""
    labels = 7919 * np.arange(images) % len(SPACE)
    return TestSet(name, SPACE, tuple(f"{i:05}.jpg" for i in range(images)), labels.astype(np.int32))


test_set.__test__ = False


def answers(target: TestSet, name: str, skill: Skill, rng: np.random.Generator) -> Predictions:
    """The label with the probability of the skill, otherwise a random other class."""
    n = len(target)
    rate = np.where(target.slice("dogs"), skill.dogs, skill.elsewhere)
    wrong = (target.labels + rng.integers(1, len(SPACE), n)) % len(SPACE)
    classes = np.where(rng.random(n) < rate, target.labels, wrong).astype(np.int32)[:, None]
    if skill.seconds is None:
        return Predictions(name, target.name, SPACE.name, classes)
    start = np.arange(n) * 1000.0
    times = AnswerTimes(start, start + skill.seconds * np.exp(rng.normal(0, 0.7, n)))
    return Predictions(name, target.name, SPACE.name, classes, by=Answerer.PERSON, times=times)
