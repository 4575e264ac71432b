"""Spurious mistakes and the training images that may explain them: near ones, labeled with the predicted class.

That a training image of the predicted class is near explains little by itself: such images may be near to any image of
the right class. The share of mistakes that have one is therefore compared with correct predictions of other images with
the same label (after Vasudevan et al. 2022, who looked at the 10 nearest training images).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regrade.core import UNLABELED, Column, Estimate, MistakeAnnotations, MistakeCategory, Predictions, Table, TestSet
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, IntArray
from regrade.core.record import Record
from regrade.core.training_neighbors import NO_NEIGHBOR, Duplicate, TrainingNeighbors
from regrade.stats import bounded_mean
from regrade.studies.image_clusters import mean_credit, numbers_in
from regrade.studies.mistakes.mistake_labels import MistakeList
from regrade.studies.mistakes.triage import Triage, TriageKind

PEOPLE, TRIAGE = "people", "triage"
"""What calls a mistake spurious: the review of the model's mistakes if there is one, otherwise the triage."""

_LISTED = 3  # training images listed per mistake


@dataclass(frozen=True, eq=False)
class ExplanationSources:
    """The training set, and a function from a model to the stored neighbors that explain its mistakes."""

    training_set: TestSet
    neighbors: Callable[[str], TrainingNeighbors]


@dataclass(frozen=True)
class ExplainingImage(Record):
    """A training image labeled with the predicted class: its place among the nearest, its distance, and its mark."""

    image: str
    place: int
    distance: float
    duplicate: str


@dataclass(frozen=True)
class ExplainedMistake(Record):
    """A spurious mistake, and the near training images that are labeled with the predicted class; classes are ids."""

    model: str
    image: str
    predicted: str
    label: str | None
    training_images: tuple[ExplainingImage, ...]


@dataclass(frozen=True)
class ExplainedModel(Record):
    """How many of a model's spurious mistakes have a near training image of the predicted class.

    ``share`` is of the ``mistakes``, which are those with neighbors; ``without_neighbors`` have none. ``base`` is the
    mean, over the ``compared`` mistakes, of the share of the model's correct predictions of other images with the same
    label that have a near training image of the class that was predicted for the mistake. ``difference`` is the mean
    of both differences, in the same mistakes. ``correct`` is the share of all correct predictions that have a near
    training image of their own class. Undefined values are None.
    """

    model: str
    by: str
    embeddings: str
    mistakes: int
    without_neighbors: int
    share: Estimate | None
    compared: int
    base: Estimate | None
    difference: Estimate | None
    correct: Estimate | None


@dataclass(frozen=True, eq=False)
class Explanations(Record):
    """The spurious mistakes of all models, and the ``neighbors`` nearest training images that may explain them."""

    training_set: str
    neighbors: int
    models: tuple[ExplainedModel, ...]
    mistakes: tuple[ExplainedMistake, ...]


@dataclass(frozen=True, eq=False)
class SpuriousMistakes:
    """The spurious mistakes of a model: who calls them so, their images (r,) and predicted classes (r,)."""

    model: str
    by: str
    examples: IntArray
    classes: IntArray


def spurious_mistakes(listed: MistakeList, triage: Triage, review: MistakeAnnotations | None) -> SpuriousMistakes:
    """The mistakes of a model that its review calls spurious; without a review, those that the triage calls so."""
    if review is not None:
        rows = review.of_category(MistakeCategory.SPURIOUS)
        return SpuriousMistakes(listed.source, PEOPLE, review.examples[rows], review.classes[rows].astype(np.int64))
    scored = triage.scored[listed.examples]
    examples, classes = listed.examples[scored], listed.classes[scored]
    rows = triage.kinds(examples, classes) == list(TriageKind).index(TriageKind.CO_OCCURRENCE)
    return SpuriousMistakes(listed.source, TRIAGE, examples[rows], classes[rows])


def explain(
    spurious: SpuriousMistakes,
    correct: tuple[Predictions, BoolArray] | None,
    test_set: TestSet,
    sources: ExplanationSources,
    clusters: IntArray | None = None,
    *,
    confidence: float,
) -> tuple[ExplainedModel, tuple[ExplainedMistake, ...]]:
    """Explain spurious mistakes; ``correct`` are the model's predictions with the correct ones (n,), if stored.

    Images of one of the ``clusters`` (n,) are dependent.
    """
    neighbors = sources.neighbors(spurious.model)
    labels = neighbors.labels(sources.training_set)
    has_neighbors = neighbors.positions[:, 0] != NO_NEIGHBOR
    inside = has_neighbors[spurious.examples]
    examples, classes = spurious.examples[inside], spurious.classes[inside]
    is_near = (labels[examples] == classes[:, None]).any(axis=1)
    control = None if correct is None else _Controls(correct[0].top1, correct[1] & has_neighbors, labels)
    bases = _base_shares(control, test_set, examples, classes)
    compared = np.isfinite(bases)
    numbers = numbers_in(clusters, examples)
    of_compared = numbers_in(numbers, compared)
    row = ExplainedModel(
        spurious.model,
        spurious.by,
        neighbors.question.model,
        len(examples),
        int((~inside).sum()),
        mean_credit(is_near, numbers, confidence=confidence) if len(examples) else None,
        int(compared.sum()),
        bounded_mean(bases[compared], of_compared, largest=1.0, confidence=confidence) if compared.any() else None,
        _mean_difference(is_near[compared] - bases[compared], of_compared, confidence),
        None if control is None else control.own_class(clusters, confidence),
    )
    pairs = zip(examples.tolist(), classes.tolist(), strict=True)
    return row, tuple(
        ExplainedMistake(
            spurious.model,
            test_set.ids[image],
            test_set.class_space.ids[predicted],
            test_set.example(image).label,
            _explaining(neighbors, sources.training_set, image, predicted),
        )
        for image, predicted in pairs
    )


def _base_shares(
    control: _Controls | None, test_set: TestSet, examples: IntArray, classes: IntArray
) -> NDArray[np.float64]:
    """Shape (r,): the share of the controls of each mistake that are near to its class; NaN without controls."""
    if control is None:
        return np.full(len(examples), np.nan)
    pairs = zip(examples.tolist(), classes.tolist(), strict=True)
    return np.array([control.share(test_set, image, predicted) for image, predicted in pairs], dtype=np.float64)


def _mean_difference(differences: NDArray[np.float64], clusters: IntArray | None, confidence: float) -> Estimate | None:
    """The mean of differences of shares (r,), which are between -1 and 1."""
    if not len(differences):
        return None
    shifted = bounded_mean(differences + 1, clusters, largest=2.0, confidence=confidence)
    return Estimate(shifted.value - 1, shifted.low - 1, shifted.high - 1, shifted.n, shifted.method)


@dataclass(frozen=True, eq=False)
class _Controls:
    """The predictions (n,) of a model, which of them are correct (n,), and the labels of all neighbors (n, k)."""

    predicted: IntArray
    correct: BoolArray
    labels: IntArray

    def share(self, test_set: TestSet, image: int, predicted: int) -> float:
        """The share of correct predictions of other images with the label of an image that are near to a class.

        NaN if there are none.
        """
        label = int(test_set.labels[image])
        chosen = self.correct & (test_set.labels == label) & (label != UNLABELED)
        chosen[image] = False
        return float((self.labels[chosen] == predicted).any(axis=1).mean()) if chosen.any() else np.nan

    def own_class(self, clusters: IntArray | None, confidence: float) -> Estimate | None:
        """The share of correct predictions with a near training image of the predicted class."""
        near = (self.labels == self.predicted[:, None]).any(axis=1)[self.correct]
        return mean_credit(near, numbers_in(clusters, self.correct), confidence=confidence) if len(near) else None


def _explaining(
    neighbors: TrainingNeighbors, training_set: TestSet, image: int, predicted: int
) -> tuple[ExplainingImage, ...]:
    """The neighbors of an image that are labeled with the predicted class, nearest first."""
    positions = neighbors.positions[image]
    labels = np.where(positions == NO_NEIGHBOR, UNLABELED, training_set.labels[positions])
    return tuple(
        ExplainingImage(
            training_set.ids[int(positions[place])],
            place + 1,
            float(neighbors.distances[image, place]),
            Duplicate(int(neighbors.duplicates[image, place])).word,
        )
        for place in np.flatnonzero(labels == predicted).tolist()
    )


def explanation_table(title: str, explained: Explanations, notes: Sequence[str] = ()) -> Table:
    """One row per spurious mistake, those with the most training images of the predicted class first."""
    columns = (
        Column("model", "model"),
        Column("image", "image"),
        Column("predicted", "predicted"),
        Column("label", "label"),
        Column("count", f"of {explained.neighbors} nearest"),
        Column("images", "nearest training images of the predicted class"),
        Column("distance", "distance", percent=False, digits=3),
        Column("duplicate", "duplicate", detail=True),
    )
    ordered = sorted(explained.mistakes, key=_most_explained)
    rows = tuple(
        (
            row.model,
            row.image,
            row.predicted,
            row.label,
            len(row.training_images),
            ", ".join(image.image for image in row.training_images[:_LISTED]) or None,
            row.training_images[0].distance if row.training_images else None,
            next((image.duplicate for image in row.training_images if image.duplicate), None),
        )
        for row in ordered
    )
    lines = [line for model in explained.models for line in _summary(model, explained.neighbors)]
    methods = sorted({e.method for m in explained.models for e in (m.share, m.base, m.difference, m.correct) if e})
    intervals = (f"intervals: {', '.join(methods)}",) if methods else ()
    rule = (
        "base rate: correct predictions of other images with the label of the mistake that have a training image of "
        "the class predicted for the mistake among their nearest, too, mean over mistakes; a near image proves no cause"
    )
    heading = f"training images of {explained.training_set} near spurious mistakes on {title}"
    return Table(heading, columns, rows, (*lines, rule, *intervals, *notes))


def _most_explained(row: ExplainedMistake) -> tuple[int, float, str, str]:
    distance = row.training_images[0].distance if row.training_images else np.inf
    return -len(row.training_images), distance, row.model, row.image


def _summary(row: ExplainedModel, neighbors: int) -> list[str]:
    """The shares of a model as text."""
    who = f"{row.model} (spurious by {row.by}, embeddings of {row.embeddings})"
    if row.share is None:
        return [f"{who}: no spurious mistakes with neighbors"]
    lines = [
        f"{who}: {row.share} % of {amount(row.mistakes, 'spurious mistake')} have a training image of the predicted "
        f"class among the {neighbors} nearest"
    ]
    if row.base is not None and row.difference is not None:
        lines.append(
            f"{row.model}: base rate {row.base} %, difference {row.difference} points, over the "
            f"{row.compared:,} of them with correct predictions of the same label"
        )
    if row.correct is not None:
        lines.append(
            f"{row.model}: {row.correct} % of {row.correct.n:,} correct predictions have one of their own class"
        )
    if row.without_neighbors:
        lines.append(f"{row.model}: {amount(row.without_neighbors, 'spurious mistake')} without neighbors left out")
    return lines
