"""What is known of one class: how well each model knows it, what it is taken for, and its hardest images."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regrade.app.explore.answer_table import AnswerTable
from regrade.app.explore.explorer import View
from regrade.app.explore.outcomes import AnswerKind, AnswerOutcome, Codes, are
from regrade.core import PERSON_PREFIX, Estimate
from regrade.core.arrays import BoolArray, IntArray
from regrade.metrics import confusions
from regrade.stats import proportions

_CONFUSED = 12  # classes that are listed
HARDEST = 18
"""Images of a class that are shown."""


@dataclass(frozen=True)
class ModelOnClass:
    """One model on the images of a class; no accuracy where none of them counts."""

    name: str
    full_name: str
    person: bool
    accuracy: Estimate | None
    missed: int


@dataclass(frozen=True)
class ConfusedClass:
    """Another class: in how many answers the two are taken for each other, on how many images, by how many models."""

    name: str
    class_id: str
    answers: int
    images: int
    models: int


@dataclass(frozen=True, eq=False)
class ClassReport:
    """A class on a test set: its images (k,), models best first, confusions both ways, and hardest images first."""

    images: IntArray
    models: tuple[ModelOnClass, ...]
    taken_for: tuple[ConfusedClass, ...]
    taken_from: tuple[ConfusedClass, ...]
    hardest: tuple[int, ...]


def class_report(view: View, class_index: int, *, confidence: float, hidden: BoolArray) -> ClassReport:
    """Look at one class through all models and people; ``hidden`` images (n,) are not even counted."""
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
    """Everyone's accuracy on the images of the class that count for them, best first."""
    right, counted = (codes == AnswerOutcome.RIGHT).sum(axis=1), (codes != AnswerOutcome.NOT_COUNTED).sum(axis=1)
    known = np.flatnonzero(counted)
    shares = dict(
        zip(known.tolist(), proportions(right[known], counted[known], confidence=confidence), strict=True)
    )  # fmt: skip
    rows = [
        ModelOnClass(
            row.name.removeprefix(PERSON_PREFIX) if row.is_person else row.name, row.name, row.is_person,
            shares.get(place), int(counted[place] - right[place]),
        )
        for place, row in enumerate(answers.rows)
    ]  # fmt: skip
    return tuple(sorted(rows, key=lambda one: (one.accuracy is None, -(one.accuracy.value if one.accuracy else 0))))


def _taken_for(answers: AnswerTable, codes: Codes, images: IntArray, class_index: int) -> tuple[ConfusedClass, ...]:
    """The other classes that images of this one are taken for."""
    rows, columns = np.nonzero(are(AnswerKind.MISSED, codes))
    said = answers.answered[rows, images[columns]]
    pairs = confusions(np.full(len(said), class_index), said)
    return _listed(answers, _Pairs(pairs.second, pairs.counts, said, rows, columns))


def _taken_from(answers: AnswerTable, codes: Codes, inside: BoolArray, class_index: int) -> tuple[ConfusedClass, ...]:
    """The other classes whose images are taken for this one, those ``inside`` (n,) left out."""
    rows, images = np.nonzero(answers.answered == class_index)
    kept = are(AnswerKind.MISSED, codes[rows, images]) & ~inside[images]
    rows, images = rows[kept], images[kept]
    own = answers.test_set.labels[images]
    pairs = confusions(own, np.full(len(own), class_index))
    return _listed(answers, _Pairs(pairs.first, pairs.counts, own, rows, images))


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Confused classes with their counts (p,), and of every such answer (r,) the class, the model and the image."""

    classes: IntArray
    counts: IntArray
    said: IntArray
    rows: IntArray
    images: IntArray


def _listed(answers: AnswerTable, pairs: _Pairs) -> tuple[ConfusedClass, ...]:
    space = answers.test_set.class_space
    found = []
    for one, count in zip(pairs.classes[:_CONFUSED].tolist(), pairs.counts[:_CONFUSED].tolist(), strict=True):
        here = pairs.said == one
        images, models = len(np.unique(pairs.images[here])), len(np.unique(pairs.rows[here]))
        found.append(ConfusedClass(space.names[one], space.ids[one], count, images, models))
    return tuple(found)


def _hardest(missed: IntArray, images: IntArray) -> tuple[int, ...]:
    """Images that some have wrong, the hardest first."""
    order = [one for one in np.argsort(-missed, kind="stable")[:HARDEST].tolist() if missed[one]]
    return tuple(int(images[one]) for one in order)
