"""Simulated models and images for null checks and coverage checks."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from regrade.core import PERSON_PREFIX, Answerer, ClassSpace, Predictions, TestSet
from regrade.core.arrays import BoolArray, IntArray
from regrade.stats import accuracy_covariance, effective_images
from regrade.studies import ImageNoise, ModelCounts, Scoring, SetCounts


def correct_predictions(
    rng: np.random.Generator, accuracies: ArrayLike, *, images: int, shared_difficulty: float = 1.2
) -> BoolArray:
    """Correctness (m, n) of models with these accuracies (m,); the difficulty of images is common to all models.

    A probit model: the difficulty of an image is normal, with ``shared_difficulty`` as its standard deviation; each
    model adds an independent error with standard deviation 1.
    """
    skills = special.ndtri(np.asarray(accuracies, dtype=np.float64)) * np.sqrt(1 + shared_difficulty**2)
    difficulty = shared_difficulty * rng.standard_normal(images)
    return skills[:, None] > difficulty + rng.standard_normal((len(skills), images))


def equal_models(rng: np.random.Generator, *, models: int, images: int, accuracy: float = 0.75) -> BoolArray:
    """Correctness (m, n) of equally accurate models."""
    return correct_predictions(rng, np.full(models, accuracy), images=images)


def counted(name: str, correct: BoolArray, clusters: IntArray | None = None) -> SetCounts:
    """Counts of correct predictions (m, n), with the variance of the accuracies over images, or ``clusters`` (n,)."""
    names = model_names(len(correct))
    worth = [None if clusters is None else effective_images(row, clusters) for row in correct]
    models = {
        model: ModelCounts(int(row.sum()), len(row), effective=effective)
        for model, row, effective in zip(names, correct, worth, strict=True)
    }
    noise = ImageNoise(names, accuracy_covariance(correct, clusters=clusters), clusters=clusters is not None)
    return SetCounts(name, models, noise=noise)


def model_names(models: int) -> tuple[str, ...]:
    """Names of ``models`` models."""
    return tuple(f"model {number}" for number in range(1, models + 1))


SPACE = ClassSpace("two classes", ("right", "wrong"))
"""The classes of simulated images: every image is labeled with the first."""


def labeled_set(images: int, **groups: tuple[str, ...]) -> TestSet:
    """A test set of ``images`` images, with group columns."""
    ids = tuple(f"image {number}" for number in range(images))
    return TestSet("simulated", SPACE, ids, np.zeros(images, dtype=np.int32), groups)


def predicted(test_set: TestSet, correct: BoolArray, *, people: int = 0) -> list[tuple[Predictions, Scoring]]:
    """Predictions that are correct where ``correct`` (m, n) is True; the first rows are people."""
    names = [f"{PERSON_PREFIX}{number}" for number in range(people)] + list(model_names(len(correct) - people))
    answerers = [Answerer.PERSON] * people + [Answerer.MODEL] * (len(correct) - people)
    rows = zip(names, correct, answerers, strict=True)
    scoring = Scoring(test_set)
    return [
        (Predictions(name, test_set.name, SPACE.name, np.where(row, 0, 1)[:, None].astype(np.int32), by=by), scoring)
        for name, row, by in rows
    ]
