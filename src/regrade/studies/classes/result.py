"""The result of a study of classes: precision, recall and F1 per class, averages, and confusions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from regrade.core import Column, Estimate, InputError, Table
from regrade.core.amounts import amount
from regrade.core.arrays import FloatArray, IntArray
from regrade.core.record import NOT_IN_JSON, Record
from regrade.core.table import Cell
from regrade.studies.study_result import StudyResult

MATRIX_COLUMNS = 20
"""The most classes of a confusion matrix that is printed as a table."""


class ClassesPart(Enum):
    """The tables of a study of classes."""

    CLASSES = "classes"
    AVERAGES = "averages"
    PAIRS = "pairs"
    MATRIX = "matrix"


class ClassOrder(Enum):
    """How the classes of a confusion matrix are ordered."""

    HIERARCHY = "hierarchy"
    CLUSTERS = "clusters"


@dataclass(frozen=True)
class ClassScores(Record):
    """One model on one class; None is undefined.

    ``support`` is the number of images with the label, ``predicted`` that of predictions of the class. Precision is
    undefined without predictions, recall without images, F1 without either.
    """

    model: str
    class_id: str
    name: str
    support: int
    predicted: int
    precision: Estimate | None
    recall: Estimate | None
    f1: Estimate | None


@dataclass(frozen=True)
class ClassAverages(Record):
    """Averages of one model; None is undefined. ``never_predicted`` counts classes with images but no prediction."""

    model: str
    images: int
    accuracy: Estimate
    balanced_accuracy: Estimate
    macro_precision: Estimate | None
    macro_f1: Estimate | None
    weighted_f1: Estimate | None
    never_predicted: int


@dataclass(frozen=True)
class ConfusedClasses(Record):
    """How often images of a ``label`` are predicted as another class; ``share`` is among the images of the label."""

    model: str
    label: str
    predicted: str
    count: int
    share: Estimate


@dataclass(frozen=True, eq=False)
class ConfusionMatrix(Record):
    """Counts (k, k) of labels (rows) and predictions (columns) of one model.

    ``supports`` (k,) are the images of each label, some of which may have no prediction, or one of a class that is not
    among the k. ``of`` is the number of all classes, and ``order`` says how these k are ordered.
    """

    model: str
    classes: tuple[str, ...]
    order: str
    of: int
    supports: IntArray
    counts: IntArray

    @property
    def shares(self) -> FloatArray:
        """Shape (k, k): counts divided by the images of the label; NaN without images."""
        supports = self.supports[:, None].astype(np.float64)
        return np.divide(self.counts, supports, out=np.full(self.counts.shape, np.nan), where=supports > 0)

    @property
    def title(self) -> str:
        """Which classes, in words."""
        shown = len(self.classes)
        return (
            amount(shown, "class", "classes")
            if shown == self.of
            else f"the {shown} most confused of {self.of:,} classes"
        )


@dataclass(frozen=True, repr=False)
class ClassGrades(StudyResult, records="rows"):
    """Scores of every class, averages and confusions of models on a test set; the matrices are those of the best model.

    ``superclasses`` is the matrix of groups of classes if there are more classes than a figure shows. ``confidence`` is
    that of all intervals; those of one measure hold for all classes of a model together. If images come in clusters,
    ``design_effects`` are how many images of a cluster are worth one, of each class and to the best model.
    """

    test_set: str
    images: int
    confidence: float
    rows: tuple[ClassScores, ...]
    averages: tuple[ClassAverages, ...]
    pairs: tuple[ConfusedClasses, ...]
    matrix: ConfusionMatrix
    superclasses: ConfusionMatrix | None
    notes: tuple[str, ...] = ()
    design_effects: Mapping[str, float] | None = field(default=None, metadata=NOT_IN_JSON)

    def table(self) -> Table:
        """Every class, the lowest F1 first."""
        columns = (
            *self._model_column(),
            Column("class", "class"),
            Column("support", "images"),
            Column("predicted", "predicted"),
            Column("precision", "precision"),
            Column("recall", "recall"),
            Column("f1", "F1"),
        )
        rows = tuple(
            (
                *self._model_cell(row.model),
                *(row.name, row.support, row.predicted, row.precision, row.recall, row.f1),
            )
            for row in self.rows
        )
        return Table(f"classes of {self.test_set}, in %", columns, rows, (*_CLASS_NOTES, *self._methods(), *self.notes))

    def averages_table(self) -> Table:
        """The averages of every model."""
        columns = (
            Column("model", "model"),
            Column("accuracy", "accuracy"),
            Column("balanced_accuracy", "balanced accuracy"),
            Column("macro_precision", "macro precision"),
            Column("macro_f1", "macro F1"),
            Column("weighted_f1", "weighted F1"),
        )
        rows = tuple(tuple(getattr(row, column.key) for column in columns) for row in self.averages)
        return Table(
            f"averages over classes of {self.test_set}, in %", columns, rows, (*self._undefined(), *self.notes)
        )

    def pairs_table(self) -> Table:
        """The most frequent confusions of every model."""
        columns = (
            *self._model_column(),
            Column("label", "label"),
            Column("predicted", "predicted as"),
            Column("count", "images"),
            Column("share", "share of the label's images"),
        )
        rows: list[tuple[Cell, ...]] = [
            (*self._model_cell(pair.model), pair.label, pair.predicted, pair.count, pair.share) for pair in self.pairs
        ]
        note = "intervals hold for all pairs of classes of a model together, since the largest are selected"
        return Table(f"confusions on {self.test_set}, in %", columns, rows, (note, *self.notes))

    def matrix_table(self) -> Table:
        """The confusion matrix of the best model."""
        matrix = self.matrix
        columns = (Column("label", "label"), *(Column(name, name) for name in matrix.classes))
        counts: list[list[int]] = matrix.counts.tolist()
        rows: list[tuple[Cell, ...]] = [(name, *row) for name, row in zip(matrix.classes, counts, strict=True)]
        title = f"{matrix.model} on {self.test_set}: images by label (rows) and predicted class (columns)"
        return Table(title, columns, rows, (f"classes ordered by {matrix.order}", *self.notes))

    @property
    def parts(self) -> tuple[ClassesPart, ...]:
        """The tables that there are."""
        small = len(self.matrix.classes) == self.matrix.of <= MATRIX_COLUMNS
        left_out = set() if small else {ClassesPart.MATRIX}
        if not self.pairs:
            left_out.add(ClassesPart.PAIRS)
        return tuple(part for part in ClassesPart if part not in left_out)

    def part(self, part: ClassesPart) -> Table:
        """Return one of the tables; raises if there is none."""
        if part not in self.parts:
            raise InputError(
                f"no prediction on {self.test_set} is confused"
                if part is ClassesPart.PAIRS
                else f"a table of {self.matrix.of:,} classes is too wide: use --show pairs or --figure"
            )
        tables = {
            ClassesPart.CLASSES: self.table,
            ClassesPart.AVERAGES: self.averages_table,
            ClassesPart.PAIRS: self.pairs_table,
            ClassesPart.MATRIX: self.matrix_table,
        }
        return tables[part]()

    def _model_column(self) -> Sequence[Column]:
        return (Column("model", "model"),) if len(self.averages) > 1 else ()

    def _model_cell(self, model: str) -> Sequence[str]:
        return (model,) if len(self.averages) > 1 else ()

    def _methods(self) -> tuple[str, ...]:
        methods = dict.fromkeys(
            estimate.method for row in self.rows for estimate in (row.precision, row.recall, row.f1) if estimate
        )
        return (f"intervals: {', '.join(methods)}",)

    def _undefined(self) -> tuple[str, ...]:
        notes = ["balanced accuracy: mean recall of the classes with images"]
        if never := [f"{row.model} ({row.never_predicted:,})" for row in self.averages if row.never_predicted]:
            notes.append(f"macro precision leaves out classes that are never predicted: {', '.join(never[:3])}")
        if any(row.macro_f1 is None for row in self.averages):
            what = "images" if self.design_effects is None else "clusters of images"
            notes.append(
                f"mean F1 scores are undefined with fewer than 20 {what} per class: they are too low by chance"
            )
        return tuple(notes)


_CLASS_NOTES = (
    "lowest F1 first; the intervals of a measure hold for all classes of a model together",
    "precision: given the number of predictions of the class; recall: given its number of images",
)
