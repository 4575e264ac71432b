"""Counts of correct predictions of each model on a test set, and the sampling noise of the accuracies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from regrade.core import Answerer, Estimate, InputError, Predictions, TestSet, UndefinedError
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.stats import EffectiveImages, SampledShares, accuracy_covariance, effective_images
from regrade.studies.grade.analysis import grade, top5_of
from regrade.studies.grade.result import Grade
from regrade.studies.image_clusters import INDEPENDENT, ImageClusters
from regrade.studies.image_slice import image_slice
from regrade.studies.scoring import EVERYTHING, Scoring

_ROUNDING = 1e-12  # relative error of a count that is computed from an accuracy


@dataclass(frozen=True, eq=False)
class ImageNoise:
    """Covariances (m, m) of the accuracies of models on one test set, over its images or over ``clusters`` of them.

    Top-5 is not a number for models without it, and None if some model of `of` has none.
    """

    models: tuple[str, ...]
    top1: FloatArray
    top5: FloatArray | None = None
    clusters: bool = False

    def covers(self, models: Sequence[str]) -> bool:
        """Whether the covariances include all of these models."""
        return set(models) <= set(self.models)

    def of(self, models: Sequence[str]) -> ImageNoise:
        """The covariances of a subset of the models, in the order given."""
        places = [self.models.index(model) for model in models]
        part = np.ix_(places, places)
        top5 = None if self.top5 is None or np.isnan(self.top5[part]).any() else self.top5[part]
        return ImageNoise(tuple(models), self.top1[part], top5, self.clusters)


class ImageNoiseCollector:
    """Collects which images each model predicts correctly, one model at a time; images of a cluster are dependent."""

    def __init__(self, clusters: ImageClusters | None = None) -> None:
        self._clusters = clusters
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
        counted = np.stack(self._counted)
        numbers = None if self._clusters is None else self._clusters.numbers
        top1 = accuracy_covariance(np.stack(self._right), counted, numbers)
        return ImageNoise(tuple(self._models), top1, self._top5(counted, numbers), numbers is not None)

    def _top5(self, counted: BoolArray, clusters: IntArray | None) -> FloatArray | None:
        places = [place for place, right in enumerate(self._right_top5) if right is not None]
        if not places:
            return None
        right = np.stack([right for right in self._right_top5 if right is not None])
        covariance = np.full((len(counted), len(counted)), np.nan)
        covariance[np.ix_(places, places)] = accuracy_covariance(right, counted[places], clusters)
        return covariance


class ClusterWorth:
    """Collects what the images of a test set are worth to each model or person; nothing without clusters."""

    def __init__(self, test_set: str, clusters: ImageClusters | None) -> None:
        self._test_set, self._clusters = test_set, clusters
        self._effective: dict[str, EffectiveImages] = {}
        self._inside: BoolArray | None = None

    def add(self, name: str, right: BoolArray, counted: BoolArray) -> None:
        """Add a model or person by its correctness (n,); counted images that are all of one cluster raise."""
        if self._clusters is None or not counted.any():
            return
        numbers = self._clusters.numbers[counted]
        if (numbers == numbers[0]).all():
            raise UndefinedError(
                f"the images of {self._test_set} that count for {name} are of one {self._clusters.column}, which says "
                f"nothing of others; --clusters {INDEPENDENT} treats images as independent"
            )
        self._effective[name] = effective_images(right[counted], numbers)
        self._inside = counted if self._inside is None else self._inside | counted

    def added_to(self, counts: SetCounts) -> SetCounts:
        """The counts with what their images are worth, and a note on the clusters."""
        if self._clusters is None or self._inside is None:
            return counts
        models = {name: replace(row, effective=self._effective[name]) for name, row in counts.models.items()}
        notes = (f"{self._test_set}: {note}" for note in self._clusters.notes(self._inside))
        return replace(counts, models=models, notes=(*counts.notes, *notes))


@dataclass(frozen=True)
class ModelCounts:
    """A model's number of correct predictions, of images, and of correct top-5 predictions if known.

    With ties across the fifth place, the latter is an expected number. ``top5`` is the top-5 accuracy if it was graded.
    ``novel`` counts the wrong predictions that no one has judged. ``effective`` is what the images are worth if they
    come in clusters; None if they are independent.
    """

    right: int
    images: int
    right_top5: float | None = None
    top5: Estimate | None = field(default=None, compare=False)
    novel: int = 0
    effective: EffectiveImages | None = None

    def __post_init__(self) -> None:
        if self.images < 1:
            raise InputError("an accuracy needs at least one image")
        if not all(0 <= right <= self.images for right in (self.right, self.right_top5 or 0)):
            raise InputError(f"correct predictions must lie between 0 and {amount(self.images, 'image')}")

    def accuracy(self, confidence: float) -> Estimate:
        """The accuracy with its exact interval, over clusters if images come in them."""
        effective = None if self.effective is None else (self.effective,)
        return SampledShares(np.array([self.right]), np.array([self.images]), effective).estimates(confidence)[0]


@dataclass(frozen=True)
class SetCounts:
    """The counts of every model on a test set; ``notes`` describe how they were scored.

    ``noise`` is the sampling noise of the accuracies, if per-image correctness is known.
    """

    test_set: str
    models: Mapping[str, ModelCounts]
    notes: tuple[str, ...] = ()
    noise: ImageNoise | None = field(default=None, compare=False)

    def shares(self, names: Sequence[str]) -> SampledShares:
        """The accuracies of some models and people, over clusters if the images of all of them come in these."""
        rows = [self.models[name] for name in names]
        right, images = np.array([(row.right, row.images) for row in rows], dtype=np.int64).reshape(-1, 2).T
        effective = tuple(row.effective for row in rows if row.effective is not None)
        return SampledShares(right, images, effective if len(effective) == len(rows) else None)


def counts_of(grade: Grade, slice_name: str = EVERYTHING) -> SetCounts:
    """The counts of a grade, over all examples or a slice; models without an accuracy are left out."""
    models = {
        row.model: ModelCounts(
            round(row.top1.value * row.top1.n),
            row.top1.n,
            _right_top5(row.top5),
            row.top5,
        )
        for row in grade.rows
        if row.slice == slice_name and row.top1 is not None
    }
    notes = (note for note in grade.notes if note.startswith(("label space", "undetermined", "top-5")))
    return SetCounts(grade.test_set, models, tuple(f"{grade.test_set}: {note}" for note in notes))


def _right_top5(accuracy: Estimate | None) -> float | None:
    """The number of correct top-5 predictions, an expected number with ties."""
    if accuracy is None:
        return None
    count = accuracy.value * accuracy.n
    return round(count) if abs(count - round(count)) < _ROUNDING * accuracy.n else count


def counts_with_noise(
    test_set: TestSet,
    scored: Iterable[tuple[Predictions, Scoring]],
    *,
    slice_name: str | None = None,
    clusters: ImageClusters | None = None,
    confidence: float = 0.95,
) -> SetCounts:
    """The counts of models on a test set or on a slice of it, with the sampling noise of the models' accuracies.

    With ``clusters``, their images are treated as dependent.
    """
    collector, inside = ImageNoiseCollector(clusters), slice_mask(test_set, slice_name)
    worth = ClusterWorth(test_set.name, clusters)

    def collected() -> Iterator[tuple[Predictions, Scoring]]:
        for predictions, scoring in scored:
            counted = scoring.counted & predictions.counted & inside
            right = scoring.top_k(predictions, 1).right
            worth.add(predictions.model, right, counted)
            if predictions.by is Answerer.MODEL:
                top5 = top5_of(predictions, scoring)
                collector.add(predictions.model, right, None if top5 is None else top5.credit, counted)
            yield predictions, scoring

    slices = [] if slice_name is None else [slice_name]
    graded = grade(test_set, collected(), slices=slices, clusters=clusters, confidence=confidence)
    return worth.added_to(replace(counts_of(graded, slice_name or EVERYTHING), noise=collector.noise()))


def slice_mask(test_set: TestSet, name: str | None) -> BoolArray:
    """Shape (n,): the examples of a slice, or all examples without a name; an empty slice raises."""
    return np.ones(len(test_set), dtype=bool) if name is None else image_slice(test_set, name).inside
