"""What each model has right on a test set, as counts: all that a study of several test sets needs of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from regrade.core import InputError, Predictions, TestSet
from regrade.core.amounts import amount
from regrade.studies.grade import EVERYTHING, Grade, grade, top5_right
from regrade.studies.image_noise import ImageNoise, NoiseOfImages
from regrade.studies.scoring import Scoring


@dataclass(frozen=True)
class ModelCounts:
    """How many of so many images a model has right, and how many of them among its best five if that is known."""

    right: int
    images: int
    right_top5: int | None = None

    def __post_init__(self) -> None:
        if self.images < 1:
            raise InputError("an accuracy needs at least one image")
        if not all(0 <= right <= self.images for right in (self.right, self.right_top5 or 0)):
            raise InputError(f"right answers must lie between 0 and {amount(self.images, 'image')}")


@dataclass(frozen=True)
class SetCounts:
    """The counts of every model on a test set; ``notes`` say what a reader must know of how they were scored.

    ``noise`` is how the accuracies vary over drawings of images, where more than counts is known.
    """

    test_set: str
    models: Mapping[str, ModelCounts]
    notes: tuple[str, ...] = ()
    noise: ImageNoise | None = field(default=None, compare=False)


def counts_of(grade: Grade) -> SetCounts:
    """The counts behind a grade, over all examples; models without an accuracy are left out."""
    models = {
        row.model: ModelCounts(
            round(row.top1.value * row.top1.n),
            row.top1.n,
            None if row.top5 is None else round(row.top5.value * row.top5.n),
        )
        for row in grade.rows
        if row.slice == EVERYTHING and row.top1 is not None
    }
    told = tuple(note for note in grade.notes if note.startswith(("label space", "undetermined")))
    return SetCounts(grade.test_set, models, tuple(f"{grade.test_set}: {note}" for note in told))


def counts_with_noise(
    test_set: TestSet, scored: Iterable[tuple[Predictions, Scoring]], *, confidence: float = 0.95
) -> SetCounts:
    """The counts of models on a test set, and how their accuracies vary over drawings of images."""
    collected = NoiseOfImages()

    def noted() -> Iterator[tuple[Predictions, Scoring]]:
        for answers, scoring in scored:
            counted = scoring.counted & answers.counted
            collected.add(answers.model, scoring.top_k(answers, 1).right, top5_right(answers, scoring), counted)
            yield answers, scoring

    counts = counts_of(grade(test_set, noted(), confidence=confidence))
    return replace(counts, noise=collected.noise())
