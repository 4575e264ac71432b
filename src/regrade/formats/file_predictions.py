"""Predictions as they are in a file: best classes or all scores per row, and the examples they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from regrade.core import NO_ANSWER, STORED_K, ClassSpace, InputError, ScoreKind, Ties
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.formats.score_kinds import kind_note, kind_of_all
from regrade.metrics import ties_across, top_k_classes
from regrade.tables import NO_ROW, Examples

NO_IDS = "there are no ids: rows are taken in the order of the test set"


@dataclass(frozen=True)
class FilePredictions:
    """One model's predictions in file order: best classes (n, k), their scores, and all scores (n, c).

    ``notes`` say how scores were interpreted. ``ties`` are the classes that score as much as the last of the best.
    ``covered`` (n,) are the examples of a test set that the file has, once they are `reordered`; None: all of them.
    ``changed`` says what was changed in reading them.
    """

    classes: IntArray
    scores: FloatArray | None = None
    full_scores: FloatArray | None = None
    score_kind: ScoreKind | None = None
    notes: tuple[str, ...] = ()
    ties: Ties | None = None
    covered: BoolArray | None = None
    changed: str = ""

    def reordered(self, rows: IntArray) -> FilePredictions:
        """The predictions in the order of a test set; examples with `NO_ROW` are not covered."""
        if np.array_equal(rows, np.arange(len(self.classes))):
            return self
        covered = rows != NO_ROW
        return FilePredictions(
            np.where(covered[:, None], self.classes[rows], NO_ANSWER),
            None if self.scores is None else _of_covered(self.scores[rows], covered),
            None if self.full_scores is None else _of_covered(self.full_scores[rows], covered),
            self.score_kind,
            self.notes,
            None if self.ties is None else self.ties.reordered(rows),
            None if covered.all() else covered,
            self.changed,
        )

    def with_columns_reversed(self) -> FilePredictions:
        """The predictions of a file that has the best class last; a missing class stays behind the others.

        Predictions with all scores raise: their scores say which class is the best.
        """
        if self.full_scores is not None:
            raise InputError("the best classes follow from the scores of all classes: there are no columns to reverse")
        reversed_classes = self.classes[:, ::-1]
        order = np.argsort(reversed_classes == NO_ANSWER, axis=1, kind="stable")
        scores = None if self.scores is None else np.take_along_axis(self.scores[:, ::-1], order, axis=1)
        classes = np.take_along_axis(reversed_classes, order, axis=1)
        return replace(self, classes=classes, scores=scores, ties=None, changed="columns reversed")


def _of_covered(scores: FloatArray, covered: BoolArray) -> FloatArray:
    """Scores (n, k) with NaN for examples that are not covered."""
    return (
        scores
        if covered.all()
        else np.where(covered[:, None], scores, np.nan).astype(np.result_type(scores, np.float16))
    )


@dataclass(frozen=True)
class PredictionFile:
    """The content of a file: examples (None if it has no ids), predictions by model, and notes for the user.

    ``labels`` (n,) are those of a file without ids. ``roles`` describes how each column or array was understood;
    ``integer_columns`` are models that are columns of integers, which could be something else.
    """

    examples: Examples | None
    predictions: Mapping[str, FilePredictions]
    notes: tuple[str, ...] = ()
    labels: IntArray | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    integer_columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class FileClassSpaces:
    """The class space of the predictions in a file, and that of its labels, usually the same."""

    predictions: ClassSpace
    labels: ClassSpace


def predictions_from_scores(
    scores: FloatArray, space: ClassSpace, *, name: str, stated: ScoreKind | None = None
) -> FilePredictions:
    """Predictions from all scores (n, c): top k in the scores' own precision, kind of scores by their sums.

    Raises if scores that are ``stated`` to be probabilities are not.
    """
    if scores.dtype.kind not in "fiu" or scores.dtype.itemsize > 8:
        raise InputError(f"scores of {name!r} are {scores.dtype}: expected float16, float32 or float64")
    if scores.ndim != 2 or scores.shape[1] != len(space):
        raise InputError(
            f"scores of {name!r} have shape {scores.shape}: expected (examples, {len(space)}) for {space.name}"
        )
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores).all(axis=1))[0])
        raise InputError(f"scores of {name!r}, row {row + 1}: not a finite number")
    if np.abs(scores).max() > np.finfo(np.float16).max:
        raise InputError(f"scores of {name!r} are larger than half precision can hold: scale them down")
    classes = top_k_classes(scores, k=min(STORED_K, len(space)))
    best = np.take_along_axis(scores, classes, axis=1)
    kind = kind_of_all(scores, name=name, stated=stated)
    ties = ties_across(scores, classes)
    notes = (*kind_note(scores, kind, stated=stated), *_tie_note(ties, len(scores), classes.shape[1]))
    return FilePredictions(classes, best.astype(np.float32), scores, kind, notes, ties)


def _tie_note(ties: Ties | None, images: int, k: int) -> tuple[str, ...]:
    """A note if the last of the best k classes is tied with a class that is not among the best."""
    if ties is None:
        return ()
    tied = f"{amount(len(ties), 'image')} of {images:,}"
    return (f"{tied} have ties across place {k}: top-{k} accuracy is the expected value under random tie-breaking",)
