"""Simulated models that err like real ones: mostly on the same difficult images."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

MODELS, IMAGES = 1_000, 50_000


def correctness(models: int, images: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield one row (images,) per model: correct where skill exceeds the image's difficulty plus noise.

    Accuracies are between about 55% and 85%, and two models agree on about 83% of the images.
    """
    difficulty = rng.normal(0, 1.5, images).astype(np.float32)
    for skill in rng.normal(1.1, 0.3, models).astype(np.float32):
        luck = rng.standard_normal(images, dtype=np.float32) * np.float32(0.7)
        yield skill + luck > difficulty


def correct_matrix(models: int = MODELS, images: int = IMAGES, *, seed: int = 0) -> np.ndarray:
    """The rows of `correctness` as one array (models, images)."""
    correct = np.empty((models, images), dtype=bool)
    for row, right in zip(correct, correctness(models, images, np.random.default_rng(seed)), strict=True):
        row[:] = right
    return correct
