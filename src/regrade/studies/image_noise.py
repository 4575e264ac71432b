"""The sampling noise of models' accuracies: how they vary over random draws of images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regrade.core.arrays import BoolArray, FloatArray
from regrade.stats import accuracy_covariance


@dataclass(frozen=True, eq=False)
class ImageNoise:
    """Covariances (m, m) of the accuracies of models on one test set; None for top-5 if some model has no top-5."""

    models: tuple[str, ...]
    top1: FloatArray
    top5: FloatArray | None = None

    def covers(self, models: Sequence[str]) -> bool:
        """Whether the covariances include all of these models."""
        return set(models) <= set(self.models)

    def of(self, models: Sequence[str]) -> ImageNoise:
        """The covariances of a subset of the models, in the order given."""
        places = [self.models.index(model) for model in models]
        part = np.ix_(places, places)
        return ImageNoise(tuple(models), self.top1[part], None if self.top5 is None else self.top5[part])


class ImageNoiseCollector:
    """Collects which images each model predicts correctly, one model at a time."""

    def __init__(self) -> None:
        self._models: list[str] = []
        self._right: list[BoolArray] = []
        self._right_top5: list[BoolArray | None] = []
        self._counted: list[BoolArray] = []

    def add(self, model: str, right: BoolArray, right_top5: BoolArray | None, counted: BoolArray) -> None:
        """Add a model by its correctness (n,)."""
        if counted.sum() < 2:
            return  # a variance needs two images
        self._models.append(model)
        self._right.append(right)
        self._right_top5.append(right_top5)
        self._counted.append(counted)

    def noise(self) -> ImageNoise | None:
        """The covariances of all models added; None if no model has two images."""
        if not self._models:
            return None
        counted, top5 = np.stack(self._counted), [right for right in self._right_top5 if right is not None]
        return ImageNoise(
            tuple(self._models),
            accuracy_covariance(np.stack(self._right), counted),
            accuracy_covariance(np.stack(top5), counted) if len(top5) == len(self._models) else None,
        )
