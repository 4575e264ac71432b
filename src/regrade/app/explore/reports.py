"""The reports of Explore on one image, with all its labels and answers, and on one class, with its confusions."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import isnan

import numpy as np

from regrade.app.explore.answers import WORDS, AnswerKind, AnswerOutcome, AnswerTable, Codes, has_kind
from regrade.app.explore.explorer import View
from regrade.app.image_lookup import JudgedLabels
from regrade.app.site import Site
from regrade.core import PERSON_PREFIX, UNLABELED, Estimate, TestSet, UnknownName
from regrade.core.arrays import BoolArray, IntArray
from regrade.metrics import confusions
from regrade.stats import proportions

_MAX_VERSIONS = 3  # newest versions of each label set that are shown


@dataclass(frozen=True)
class RankedClass:
    """One of a model's top classes with its score; ``class_id`` is empty if the test set has no such class."""

    name: str
    class_id: str
    score: float | None


@dataclass(frozen=True)
class AnswerReport:
    """The top classes of one model or person for the image, and the outcome."""

    name: str
    full_name: str
    person: bool
    outcome: AnswerOutcome
    best: tuple[RankedClass, ...]

    @property
    def word(self) -> str:
        """The outcome as text."""
        return WORDS[self.outcome]

    @property
    def confidence(self) -> float:
        """The score of the top class; minus infinity if there is none."""
        score = self.best[0].score if self.best else None
        return float("-inf") if score is None else score


@dataclass(frozen=True)
class AlternativeClass:
    """A class predicted for the image, the number of models and people, and the outcome."""

    name: str
    class_id: str
    count: int
    outcome: AnswerOutcome


@dataclass(frozen=True)
class LabelVersion:
    """The labels of the image in one version of a label set, and whether they equal those of the previous version."""

    full_name: str
    covered: bool
    labels: JudgedLabels
    unchanged: bool


def position_of(test_set: TestSet, number: int | None, example: str) -> int:
    """The position of an image by its number or its id; an unknown image raises."""
    if example:
        return test_set.position(example)
    if number is None or number >= len(test_set):
        raise UnknownName(f"image of {test_set.name}", "" if number is None else str(number), None)
    return number


def answers_on(view: View, position: int, *, by_name: bool) -> list[AnswerReport]:
    """The answers of all models and people who were asked: most confident mistakes first, or by name."""
    answers, own = view.answers, view.test_set.class_space.index_of
    reports = []
    for place, row in enumerate(answers.rows):
        if row.was_asked is not None and not row.was_asked[position]:
            continue
        space = row.class_space
        classes, scores = answers.classes[place, position].tolist(), answers.scores[place, position].tolist()
        best = tuple(
            RankedClass(
                space.names[index], space.ids[index] if space.ids[index] in own else "", None if isnan(score) else score
            )
            for index, score in zip(classes, scores, strict=True)
            if index >= 0
        )
        name = row.name.removeprefix(PERSON_PREFIX) if row.is_person else row.name
        outcome = AnswerOutcome(int(view.codes[place, position]))
        reports.append(AnswerReport(name, row.name, row.is_person, outcome, best))
    return sorted(reports, key=_by_name if by_name else _mistakes_first)


def _by_name(report: AnswerReport) -> tuple[str]:
    return (report.name.casefold(),)


def _mistakes_first(report: AnswerReport) -> tuple[bool, bool, float, str]:
    return report.outcome < AnswerOutcome.WRONG, report.outcome == 0, -report.confidence, report.name


def taken_for(view: View, position: int) -> list[AlternativeClass]:
    """The classes answered for an image, most frequent first."""
    answers, space = view.answers, view.test_set.class_space
    were_asked = [row.was_asked is None or bool(row.was_asked[position]) for row in answers.rows]
    rows = zip(answers.answered[:, position].tolist(), view.codes[:, position].tolist(), were_asked, strict=True)
    counts = Counter((index, code) for index, code, was_asked in rows if was_asked)
    return [
        AlternativeClass(
            space.names[index] if index >= 0 else "none of its classes", space.ids[index] if index >= 0 else "", count,
            AnswerOutcome(code),
        )
        for (index, code), count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    ]  # fmt: skip


def versions_of(site: Site, test_set: TestSet, position: int, chosen: str) -> list[LabelVersion]:
    """The labels of an image in the newest versions of each label set, and in the chosen version."""
    names = site.workspace.store.labels.names(test_set.name)
    by_name: dict[str, list[str]] = {}
    for full in names:
        by_name.setdefault(full.rpartition("@")[0], []).append(full)
    reports = []
    for versions in by_name.values():
        shown = [full for full in versions if full in versions[-_MAX_VERSIONS:] or full == chosen]
        before = None
        for full in shown:
            index = site.label_index(test_set.name, full)
            labels = index.of(position)
            reports.append(LabelVersion(full, bool(index.labels.covered[position]), labels, labels == before))
            before = labels
    return reports


def slices_with(test_set: TestSet, position: int) -> list[str]:
    """The slices that contain an image."""
    label = int(test_set.labels[position])
    groups = test_set.class_space.groups
    return [
        *(name for name, inside in test_set.subsets.items() if inside[position]),
        *(f"{column}={values[position]}" for column, values in test_set.group_columns.items()),
        *(name for name, classes in groups.items() if label != UNLABELED and label in classes),
    ]


_MAX_CONFUSED = 12  # classes that are listed
HARDEST = 18
"""Hardest images shown per class."""


@dataclass(frozen=True)
class ModelOnClass:
    """One model on the images of a class; the accuracy is None if no image is scored."""

    name: str
    full_name: str
    person: bool
    accuracy: Estimate | None
    missed: int


@dataclass(frozen=True)
class ConfusedClass:
    """A confused class, with the number of confusing answers, of images and of models."""

    name: str
    class_id: str
    answers: int
    images: int
    models: int


@dataclass(frozen=True, eq=False)
class ClassReport:
    """A class on a test set: its images (k,), models best first, confusions in both directions, hardest images."""

    images: IntArray
    models: tuple[ModelOnClass, ...]
    taken_for: tuple[ConfusedClass, ...]
    taken_from: tuple[ConfusedClass, ...]
    hardest: tuple[int, ...]


def class_report(view: View, class_index: int, *, confidence: float, hidden: BoolArray) -> ClassReport:
    """Report on one class over all models and people; ``hidden`` images (n,) are not counted."""
    inside = view.of_class(class_index)
    images = np.flatnonzero(inside & ~hidden)
    codes = view.codes[:, images]
    return ClassReport(
        images,
        _models(view.answers, codes, confidence),
        _taken_for(view.answers, codes, images, class_index),
        _taken_from(view.answers, view.codes, inside | hidden, class_index),
        _hardest(view.missed[images], images),
    )


def _models(answers: AnswerTable, codes: Codes, confidence: float) -> tuple[ModelOnClass, ...]:
    """The accuracy of every model and person on their scored images of the class, best first."""
    right, counted = (codes == AnswerOutcome.RIGHT).sum(axis=1), (codes != AnswerOutcome.NOT_COUNTED).sum(axis=1)
    scored = np.flatnonzero(counted)
    estimates = proportions(right[scored], counted[scored], confidence=confidence)
    accuracy_of = dict(zip(scored.tolist(), estimates, strict=True))
    rows = [
        ModelOnClass(
            row.name.removeprefix(PERSON_PREFIX) if row.is_person else row.name, row.name, row.is_person,
            accuracy_of.get(place), int(counted[place] - right[place]),
        )
        for place, row in enumerate(answers.rows)
    ]  # fmt: skip
    return tuple(sorted(rows, key=lambda row: (row.accuracy is None, -(row.accuracy.value if row.accuracy else 0))))


def _taken_for(answers: AnswerTable, codes: Codes, images: IntArray, class_index: int) -> tuple[ConfusedClass, ...]:
    """The classes that images of this class are predicted as."""
    rows, columns = np.nonzero(has_kind(AnswerKind.MISSED, codes))
    predicted = answers.answered[rows, images[columns]]
    pairs = confusions(np.full(len(predicted), class_index), predicted)
    return _confused_classes(answers, _Confusions(pairs.second, pairs.counts, predicted, rows, columns))


def _taken_from(answers: AnswerTable, codes: Codes, inside: BoolArray, class_index: int) -> tuple[ConfusedClass, ...]:
    """The classes whose images are predicted as this class, without the images ``inside`` (n,)."""
    rows, images = np.nonzero(answers.answered == class_index)
    kept = has_kind(AnswerKind.MISSED, codes[rows, images]) & ~inside[images]
    rows, images = rows[kept], images[kept]
    own = answers.test_set.labels[images]
    pairs = confusions(own, np.full(len(own), class_index))
    return _confused_classes(answers, _Confusions(pairs.first, pairs.counts, own, rows, images))


@dataclass(frozen=True, eq=False)
class _Confusions:
    """Confused classes with their counts (p,), and the class, row and image of every confusing answer (r,)."""

    classes: IntArray
    counts: IntArray
    answer_classes: IntArray
    rows: IntArray
    images: IntArray


def _confused_classes(answers: AnswerTable, pairs: _Confusions) -> tuple[ConfusedClass, ...]:
    space = answers.test_set.class_space
    classes = []
    for index, count in zip(pairs.classes[:_MAX_CONFUSED].tolist(), pairs.counts[:_MAX_CONFUSED].tolist(), strict=True):
        of_class = pairs.answer_classes == index
        images, models = len(np.unique(pairs.images[of_class])), len(np.unique(pairs.rows[of_class]))
        classes.append(ConfusedClass(space.names[index], space.ids[index], count, images, models))
    return tuple(classes)


def _hardest(missed: IntArray, images: IntArray) -> tuple[int, ...]:
    """Images that at least one model has wrong, hardest first."""
    order = [place for place in np.argsort(-missed, kind="stable")[:HARDEST].tolist() if missed[place]]
    return tuple(int(images[place]) for place in order)
