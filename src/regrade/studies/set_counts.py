"""Counts of correct predictions of each model on a test set, and the sampling noise of the accuracies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from regrade.core import Answerer, Estimate, InputError, Predictions, TestSet
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, FloatArray
from regrade.stats import accuracy_covariance
from regrade.studies.grade.analysis import grade, top5_of
from regrade.studies.grade.result import Grade
from regrade.studies.image_slice import image_slice
from regrade.studies.scoring import EVERYTHING, Scoring

_ROUNDING = 1e-12  # relative error of a count that is computed from an accuracy


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
        self._right_top5: list[BoolArray | FloatArray | None] = []
        self._counted: list[BoolArray] = []

    def add(self, model: str, right: BoolArray, right_top5: BoolArray | FloatArray | None, counted: BoolArray) -> None:
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


@dataclass(frozen=True)
class ModelCounts:
    """A model's number of correct predictions, of images, and of correct top-5 predictions if known.

    With ties across the fifth place, the latter is an expected number, and ``expected_top5`` the accuracy. ``novel``
    counts the wrong predictions that no one has judged.
    """

    right: int
    images: int
    right_top5: float | None = None
    expected_top5: Estimate | None = None
    novel: int = 0

    def __post_init__(self) -> None:
        if self.images < 1:
            raise InputError("an accuracy needs at least one image")
        if not all(0 <= right <= self.images for right in (self.right, self.right_top5 or 0)):
            raise InputError(f"correct predictions must lie between 0 and {amount(self.images, 'image')}")


@dataclass(frozen=True)
class SetCounts:
    """The counts of every model on a test set; ``notes`` describe how they were scored.

    ``noise`` is the sampling noise of the accuracies, if per-image correctness is known.
    """

    test_set: str
    models: Mapping[str, ModelCounts]
    notes: tuple[str, ...] = ()
    noise: ImageNoise | None = field(default=None, compare=False)


def counts_of(grade: Grade, slice_name: str = EVERYTHING) -> SetCounts:
    """The counts of a grade, over all examples or a slice; models without an accuracy are left out."""
    models = {
        row.model: ModelCounts(
            round(row.top1.value * row.top1.n),
            row.top1.n,
            *_top5(row.top5),
        )
        for row in grade.rows
        if row.slice == slice_name and row.top1 is not None
    }
    notes = (note for note in grade.notes if note.startswith(("label space", "undetermined", "top-5")))
    return SetCounts(grade.test_set, models, tuple(f"{grade.test_set}: {note}" for note in notes))


def _top5(accuracy: Estimate | None) -> tuple[float | None, Estimate | None]:
    """The number of correct top-5 predictions, and its accuracy if that is an expected number."""
    if accuracy is None:
        return None, None
    count = accuracy.value * accuracy.n
    is_whole = abs(count - round(count)) < _ROUNDING * accuracy.n
    return (round(count), None) if is_whole else (count, accuracy)


def counts_with_noise(
    test_set: TestSet,
    scored: Iterable[tuple[Predictions, Scoring]],
    *,
    slice_name: str | None = None,
    confidence: float = 0.95,
) -> SetCounts:
    """The counts of models on a test set or on a slice of it, with the sampling noise of the models' accuracies."""
    collector, inside = ImageNoiseCollector(), slice_mask(test_set, slice_name)

    def collected() -> Iterator[tuple[Predictions, Scoring]]:
        for predictions, scoring in scored:
            if predictions.by is Answerer.MODEL:
                counted = scoring.counted & predictions.counted & inside
                right, top5 = scoring.top_k(predictions, 1).right, top5_of(predictions, scoring)
                collector.add(predictions.model, right, None if top5 is None else top5.credit, counted)
            yield predictions, scoring

    slices = [] if slice_name is None else [slice_name]
    counts = counts_of(grade(test_set, collected(), slices=slices, confidence=confidence), slice_name or EVERYTHING)
    return replace(counts, noise=collector.noise())


def slice_mask(test_set: TestSet, name: str | None) -> BoolArray:
    """Shape (n,): the examples of a slice, or all examples without a name; an empty slice raises."""
    return np.ones(len(test_set), dtype=bool) if name is None else image_slice(test_set, name).inside
