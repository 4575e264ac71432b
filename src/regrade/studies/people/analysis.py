"""People and models on the same images and labels (Shankar et al. 2020): accuracy, subsets, agreement and time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from regrade.core import NO_ANSWER, Answerer, Estimate, InputError, Predictions, TestSet, UndefinedError
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.studies.agreement.reviewer_models import PanelVote, reviewer_models
from regrade.studies.compare.analysis import EFFECTIVE_COUNTS, compare_groups
from regrade.studies.image_basis import SameImages, judge_predictions, same_images
from regrade.studies.image_clusters import ImageClusters, mean_credit, numbers_of
from regrade.studies.multilabel_grade import ReviewedLabels
from regrade.studies.people.accuracy import CorrectnessTable, PeopleRow, Subset, class_subsets, fast_subset
from regrade.studies.people.answers import SpeedBand, agreement, fast_images, median_seconds, speed_bands, time_spent
from regrade.studies.people.modeled import ModeledPeople
from regrade.studies.people.result import Missed, MissedImage, People
from regrade.studies.scoring import EVERYTHING, Scoring

FAST_SECONDS = 60.0
"""An image is fast if the median person took at most this many seconds (Shankar et al. 2020)."""


def people(
    test_set: TestSet,
    predictions: Iterable[tuple[Predictions, Scoring]],
    *,
    rng: np.random.Generator,
    labels: ReviewedLabels | None = None,
    subsets: Sequence[str] | None = None,
    fast_seconds: float = FAST_SECONDS,
    clusters: ImageClusters | None = None,
    confidence: float = 0.95,
) -> People:
    """Compare people with models on the labeled images that all of these people were asked about.

    ``predictions`` are of people and of models, in any order. With ``labels``, answers are scored against them, and a
    novel answer counts as wrong. Accuracies are means over images. ``subsets`` are groups of classes by an image's
    original label, such as ``objects`` or ``not dogs``; default: those of Shankar et al. With ``clusters``, tests and
    intervals of shares are over clusters.
    """
    answered = answered_images(
        test_set,
        predictions,
        labels=labels,
        subsets=subsets,
        fast_seconds=fast_seconds,
        clusters=clusters,
        confidence=confidence,
    )
    persons, aligned, table = answered.persons, answered.aligned, answered.table
    names = [person.name for person in persons]
    inside = np.zeros(len(test_set), dtype=bool)
    inside[aligned.images] = True
    return People(
        aligned.basis,
        {part.name: part.images for part in answered.parts},
        best_first([row for part in answered.parts for row in table.rows(part, rng)]),
        {person.name: person.accuracy(clusters, confidence) for person in persons},
        compare_groups(
            aligned.models,
            aligned.correct,
            table.is_person,
            basis=aligned.basis,
            novel=aligned.novel,
            clusters=table.clusters,
        ),
        _missed(table, aligned.images, test_set),
        agreement(names, np.stack([person.classes for person in persons]), inside, clusters, confidence=confidence),
        tuple(spent for p in persons if (spent := time_spent(p.name, p.seconds, confidence=confidence))),
        fast_images(answered.medians, fast_seconds) if np.isfinite(answered.medians).any() else None,
        tuple(band for person in persons for band in person.speed(clusters, confidence)),
        answered.novel,
        (*answered.notes, *_cluster_notes(answered)),
    )


@dataclass(frozen=True)
class _Person:
    """One person on all images (n,): the answers, which are right, which are counted, and the seconds they took."""

    name: str
    classes: IntArray
    right: BoolArray
    counted: BoolArray
    seconds: FloatArray

    def accuracy(self, clusters: ImageClusters | None, confidence: float) -> Estimate:
        return mean_credit(self.right[self.counted], numbers_of(clusters, self.counted), confidence=confidence)

    def speed(self, clusters: ImageClusters | None, confidence: float) -> tuple[SpeedBand, ...]:
        numbers = numbers_of(clusters, self.counted)
        right = self.right[self.counted]
        return speed_bands(self.name, self.seconds[self.counted], right, numbers, confidence=confidence)


@dataclass(frozen=True, eq=False)
class AnsweredImages:
    """People and models on the images of a test set that all these people were asked about.

    ``parts`` are all images and the subsets, ``medians`` (n,) the seconds of the median person per image.
    """

    test_set: TestSet
    persons: Sequence[_Person]
    aligned: SameImages
    table: CorrectnessTable
    parts: Sequence[Subset]
    medians: FloatArray
    clusters: ImageClusters | None = None

    @property
    def novel(self) -> dict[str, int]:
        """The number of predictions that no one has judged, for those who have any."""
        return {name: int(n) for name, n in zip(self.aligned.models, self.aligned.novel, strict=True) if n}

    @property
    def notes(self) -> tuple[str, ...]:
        """Which images count, who was asked about few or without times, and the clusters of the images."""
        images = self.aligned.images
        return (*_notes(self.persons, len(images)), *(self.clusters.notes(images) if self.clusters else ()))


def answered_images(
    test_set: TestSet,
    predictions: Iterable[tuple[Predictions, Scoring]],
    *,
    labels: ReviewedLabels | None = None,
    subsets: Sequence[str] | None = None,
    fast_seconds: float = FAST_SECONDS,
    clusters: ImageClusters | None = None,
    confidence: float = 0.95,
) -> AnsweredImages:
    """Align people and models on the same images; arguments as in `people`."""
    if not fast_seconds > 0:
        raise InputError(f"fast must be more than 0 seconds, got {fast_seconds}")
    persons: list[_Person] = []
    collected = _collect_people(persons, predictions, labels)
    aligned = same_images(test_set, collected, labels=labels, confidence=confidence)
    _check(persons, aligned)
    if clusters is not None:
        aligned = replace(aligned, basis=replace(aligned.basis, clusters=clusters.column))
    medians = median_seconds(np.stack([person.seconds[aligned.images] for person in persons]))
    parts = _parts(test_set, test_set.labels[aligned.images], subsets, medians, fast_seconds)
    table = CorrectnessTable(
        aligned.models,
        np.isin(aligned.models, [person.name for person in persons]),
        aligned.correct,
        test_set.labels[aligned.images],
        len(test_set.class_space),
        confidence,
        len(parts) - 1,
        numbers_of(clusters, aligned.images),
    )
    return AnsweredImages(test_set, persons, aligned, table, parts, medians, clusters)


def modeled_people(answered: AnsweredImages, *, rng: np.random.Generator, confidence: float = 0.95) -> ModeledPeople:
    """Fit models of annotators to the answers to the images that all these people were asked about.

    Images that a person did not answer count for that person neither here nor in the accuracy by the labels.
    """
    images, names = answered.aligned.images, answered.test_set.class_space.names
    votes, by_labels = [], {}
    for person in answered.persons:
        own = images[person.classes[images] != NO_ANSWER]
        votes += [PanelVote(int(image), person.name, names[person.classes[image]]) for image in own]
        if len(own):
            numbers = numbers_of(answered.clusters, own)
            by_labels[person.name] = mean_credit(person.right[own], numbers, confidence=confidence)
    models = reviewer_models(votes, lambda image: answered.test_set.ids[image], rng=rng, confidence=confidence)
    return ModeledPeople(models, by_labels)


def _collect_people(
    persons: list[_Person], predictions: Iterable[tuple[Predictions, Scoring]], labels: ReviewedLabels | None
) -> Iterator[tuple[Predictions, Scoring]]:
    """Pass predictions on one by one, and append those of people to ``persons``."""
    for participant, scoring in predictions:
        if participant.by is Answerer.PERSON:
            judged = judge_predictions(participant, scoring, labels)
            seconds = np.full(len(participant), np.nan) if participant.times is None else participant.times.seconds
            persons.append(_Person(participant.model, participant.top1, judged.right, judged.counted, seconds))
        yield participant, scoring


def _check(persons: Sequence[_Person], aligned: SameImages) -> None:
    if not persons:
        raise InputError("no person has answers on this test set yet: regrade import people")
    if not len(aligned.images):
        words = ", ".join(f"{person.name} {person.counted.sum():,}" for person in persons)
        raise UndefinedError(
            f"no scored image was shown to all of these people (scored images: {words}): choose some of them"
        )


def _parts(
    test_set: TestSet, labels: IntArray, subsets: Sequence[str] | None, medians: FloatArray, fast_seconds: float
) -> list[Subset]:
    fast = fast_subset(medians, fast_seconds)
    return [
        Subset(EVERYTHING, np.ones(len(labels), dtype=bool)),
        *class_subsets(test_set, labels, subsets),
        *([fast] if fast.images else []),
    ]


def _missed(everyone: CorrectnessTable, images: IntArray, test_set: TestSet) -> Missed:
    people, models = (~everyone.correct[rows].any(axis=0) for rows in (everyone.is_person, ~everyone.is_person))
    if everyone.is_person.all():
        models = np.zeros(len(images), dtype=bool)
    groups = (images[wrong] for wrong in (people, models, people & models))
    return Missed(*(tuple(_missed_image(test_set, int(place)) for place in group) for group in groups))


def _missed_image(test_set: TestSet, place: int) -> MissedImage:
    label = int(test_set.labels[place])
    return MissedImage(test_set.ids[place], test_set.class_space.names[label] if label >= 0 else "")


def best_first(rows: list[PeopleRow]) -> tuple[PeopleRow, ...]:
    """People and models by descending accuracy on all images, each with the subsets in their order."""
    overall = {row.who: row.accuracy.value for row in rows if row.subset == EVERYTHING}
    return tuple(sorted(rows, key=lambda row: (-overall[row.who], row.who)))


def _notes(persons: Sequence[_Person], images: int) -> tuple[str, ...]:
    notes = [f"on all images with labels that all {len(persons)} people were asked about: {images:,}"]
    if len(persons) == 1:
        notes = [f"on all images with labels that {persons[0].name} was asked about: {images:,}"]
    fewest, most = (pick(persons, key=lambda person: person.counted.sum()) for pick in (min, max))
    if 2 * fewest.counted.sum() < most.counted.sum():
        notes.append(
            f"{fewest.name} was asked about {amount(fewest.counted.sum(), 'image')} only, {most.name} about "
            f"{most.counted.sum():,}: leave out who was asked little to compare on more"
        )
    untimed = [person.name for person in persons if not np.isfinite(person.seconds).any()]
    if untimed:
        notes.append(f"without times: {', '.join(untimed)}")
    return tuple(notes)


def _cluster_notes(answered: AnsweredImages) -> Iterator[str]:
    """How tests of pairs are over clusters, and what is not over clusters."""
    if answered.clusters is None:
        return
    if not answered.table.is_person.all():
        yield EFFECTIVE_COUNTS
    parts = ["kappa", "alpha"] if len(answered.persons) > 1 else []
    parts += ["quantiles of times"] if np.isfinite(answered.medians).any() else []
    if parts:
        yield f"not over clusters, but as if images were independent: intervals of {', '.join(parts)}"
