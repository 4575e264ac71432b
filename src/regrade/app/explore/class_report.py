"""The report on one class: accuracy per model, confusions with other classes, and its hardest images."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regrade.app.explore.answer_table import AnswerTable
from regrade.app.explore.explorer import View
from regrade.app.explore.outcomes import AnswerKind, AnswerOutcome, Codes, has_kind
from regrade.core import PERSON_PREFIX, Estimate
from regrade.core.arrays import BoolArray, IntArray
from regrade.metrics import confusions
from regrade.stats import proportions

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
