"""People and models whose skill and speed are known, on images of ImageNet's classes."""

from dataclasses import dataclass

import numpy as np

from regrade.classes import class_space
from regrade.core import NO_ANSWER, Answerer, AnswerTimes, Predictions, TestSet

SPACE = class_space("imagenet-1k")


@dataclass(frozen=True)
class Skill:
    """How often one is right on dogs and elsewhere, and the median seconds an answer takes; none for models."""

    elsewhere: float
    dogs: float
    seconds: float | None = None


def test_set(images: int = 1000, *, name: str = "sim") -> TestSet:
    """One image a class in an order that mixes them, again and again."""
    labels = 7919 * np.arange(images) % len(SPACE)
    return TestSet(name, SPACE, tuple(f"{i:05}.jpg" for i in range(images)), labels.astype(np.int32))


test_set.__test__ = False


def answers(
    target: TestSet, name: str, skill: Skill, rng: np.random.Generator, *, asked: np.ndarray | None = None
) -> Predictions:
    """Right with the skill's probability, else any other class."""
    n = len(target)
    rate = np.where(target.slice("dogs"), skill.dogs, skill.elsewhere)
    other = (target.labels + rng.integers(1, len(SPACE), n)) % len(SPACE)
    classes = np.where(rng.random(n) < rate, target.labels, other).astype(np.int32)[:, None]
    if skill.seconds is None:
        return Predictions(name, target.name, SPACE.name, classes)
    start = np.arange(n) * 1000.0
    times = AnswerTimes(start, start + skill.seconds * np.exp(rng.normal(0, 0.7, n)))
    if asked is not None:
        classes[~asked] = NO_ANSWER
    return Predictions(name, target.name, SPACE.name, classes, by=Answerer.PERSON, covered=asked, times=times)
