"""Counts of correct predictions of each model on a test set, the input of studies of several test sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from regrade.core import InputError, Predictions, TestSet
from regrade.core.amounts import amount
from regrade.studies.grade.analysis import EVERYTHING, Grade, grade, top5_right
from regrade.studies.image_noise import ImageNoise, ImageNoiseCollector
from regrade.studies.scoring import Scoring


@dataclass(frozen=True)
class ModelCounts:
    """A model's number of correct predictions, of images, and of correct top-5 predictions if known."""

    right: int
    images: int
    right_top5: int | None = None

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


def counts_of(grade: Grade) -> SetCounts:
    """The counts of a grade, over all examples; models without an accuracy are left out."""
    models = {
        row.model: ModelCounts(
            round(row.top1.value * row.top1.n),
            row.top1.n,
            None if row.top5 is None else round(row.top5.value * row.top5.n),
        )
        for row in grade.rows
        if row.slice == EVERYTHING and row.top1 is not None
    }
    notes = (note for note in grade.notes if note.startswith(("label space", "undetermined")))
    return SetCounts(grade.test_set, models, tuple(f"{grade.test_set}: {note}" for note in notes))


def counts_with_noise(
    test_set: TestSet, scored: Iterable[tuple[Predictions, Scoring]], *, confidence: float = 0.95
) -> SetCounts:
    """The counts of models on a test set, with the sampling noise of their accuracies."""
    collector = ImageNoiseCollector()

    def collected() -> Iterator[tuple[Predictions, Scoring]]:
        for predictions, scoring in scored:
            counted = scoring.counted & predictions.counted
            right, right_top5 = scoring.top_k(predictions, 1).right, top5_right(predictions, scoring)
            collector.add(predictions.model, right, right_top5, counted)
            yield predictions, scoring

    counts = counts_of(grade(test_set, collected(), confidence=confidence))
    return replace(counts, noise=collector.noise())
