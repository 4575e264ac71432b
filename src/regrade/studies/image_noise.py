"""How the accuracies of models vary over drawings of images: from what each has right, or bounded from counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regrade.core.arrays import BoolArray, FloatArray
from regrade.stats import accuracy_covariance


@dataclass(frozen=True, eq=False)
class ImageNoise:
    """Covariances (m, m) of the accuracies of models on one test set; none for top-5 where some model has none."""

    models: tuple[str, ...]
    top1: FloatArray
    top5: FloatArray | None = None

    def knows(self, models: Sequence[str]) -> bool:
        """Whether all of the models are among these."""
        return set(models) <= set(self.models)

    def of(self, models: Sequence[str]) -> ImageNoise:
        """The same for some of the models, in their order."""
        places = [self.models.index(model) for model in models]
        part = np.ix_(places, places)
        return ImageNoise(tuple(models), self.top1[part], None if self.top5 is None else self.top5[part])


class NoiseOfImages:
    """Collects what models have right, one after another."""

    def __init__(self) -> None:
        self._models: list[str] = []
        self._right: list[BoolArray] = []
        self._right_top5: list[BoolArray | None] = []
        self._counted: list[BoolArray] = []

    def add(self, model: str, right: BoolArray, right_top5: BoolArray | None, counted: BoolArray) -> None:
        """Add a model by its answers (n,)."""
        if counted.sum() < 2:
            return  # how it varies cannot be told
        self._models.append(model)
        self._right.append(right)
        self._right_top5.append(right_top5)
        self._counted.append(counted)

    def noise(self) -> ImageNoise | None:
        """The covariances of all that were added; none where no model has two images."""
        if not self._models:
            return None
        counted, top5 = np.stack(self._counted), [answers for answers in self._right_top5 if answers is not None]
        return ImageNoise(
            tuple(self._models),
            accuracy_covariance(np.stack(self._right), counted),
            accuracy_covariance(np.stack(top5), counted) if len(top5) == len(self._models) else None,
        )
