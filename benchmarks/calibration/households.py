"""Images in households of different sizes, on which two models win and lose together."""

from __future__ import annotations

import numpy as np
from scipy import special

from regrade.core.arrays import BoolArray, FloatArray, IntArray

_ALIKE = 0.7
"""Correlation of the hidden numbers of two images of one household."""

_COMMON = 0.6
"""Share of the variance of an image's hidden number that all models have in common."""


def households(rng: np.random.Generator, count: int) -> IntArray:
    """The household (n,) of each image: one to eight images each."""
    return np.repeat(np.arange(count), rng.integers(1, 9, count))


def alike(rng: np.random.Generator, clusters: IntArray, *, rows: int) -> FloatArray:
    """Shape (rows, n): uniform numbers, correlated within clusters (n,)."""
    common = rng.standard_normal((rows, clusters.max() + 1))[:, clusters]
    own = rng.standard_normal((rows, len(clusters)))
    uniform: FloatArray = special.ndtr(np.sqrt(_ALIKE) * common + np.sqrt(1 - _ALIKE) * own)
    return uniform


def correct_in_households(rng: np.random.Generator, accuracies: FloatArray, clusters: IntArray) -> BoolArray:
    """Correctness (m, n) of models with these accuracies (m,): images of a household are hard for all models alike."""
    difficulty, own = alike(rng, clusters, rows=1), rng.standard_normal((len(accuracies), len(clusters)))
    mixed = np.sqrt(_COMMON) * special.ndtri(difficulty) + np.sqrt(1 - _COMMON) * own
    return special.ndtr(mixed) < accuracies[:, None]


def changed_in_households(rng: np.random.Generator, clusters: IntArray, gained: float, lost: float) -> BoolArray:
    """Correctness (2, n) of a baseline and a candidate that gains and loses these shares of images."""
    drawn, right = alike(rng, clusters, rows=2)
    changed = drawn < gained + lost
    baseline = np.where(changed, drawn >= gained, right < 0.8)
    return np.stack([baseline, np.where(changed, drawn < gained, baseline)])
