"""Simulated models and images that null checks and coverage checks share."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from regrade.core.arrays import BoolArray
from regrade.stats import accuracy_covariance
from regrade.studies import ImageNoise, ModelCounts, SetCounts


def correct_predictions(
    rng: np.random.Generator, accuracies: ArrayLike, *, images: int, shared_difficulty: float = 1.2
) -> BoolArray:
    """What models of these accuracies (m,) have right of ``images`` (m, n), which are hard for all models alike.

    A probit model: the difficulty of an image is normal, with ``shared_difficulty`` as its standard deviation; each
    model adds an error of its own, with a standard deviation of 1.
    """
    skills = special.ndtri(np.asarray(accuracies, dtype=np.float64)) * np.sqrt(1 + shared_difficulty**2)
    difficulty = shared_difficulty * rng.standard_normal(images)
    return skills[:, None] > difficulty + rng.standard_normal((len(skills), images))


def equal_models(rng: np.random.Generator, *, models: int, images: int, accuracy: float = 0.75) -> BoolArray:
    """What equally accurate models have right (m, n)."""
    return correct_predictions(rng, np.full(models, accuracy), images=images)


def counted(name: str, correct: BoolArray) -> SetCounts:
    """Counts of what models have right (m, n), with how their accuracies vary over images."""
    names = model_names(len(correct))
    models = {model: ModelCounts(int(row.sum()), len(row)) for model, row in zip(names, correct, strict=True)}
    return SetCounts(name, models, noise=ImageNoise(names, accuracy_covariance(correct)))


def model_names(models: int) -> tuple[str, ...]:
    """Names of so many models."""
    return tuple(f"model {number}" for number in range(1, models + 1))
