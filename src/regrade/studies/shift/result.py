"""The result of a study of a shift: how well each model tells two sets apart, and the most typical images of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from regrade.core import Column, Estimate, Table, TestSet
from regrade.core.arrays import FloatArray, IntArray
from regrade.core.record import NOT_IN_JSON
from regrade.studies.study_result import StudyResult

_ROUNDING = 1e-9


class ShiftPart(Enum):
    """The tables of a study of a shift."""

    MODELS = "models"
    IMAGES = "images"


class ShiftVerdict(Enum):
    """Whether embeddings tell the images of two sets apart."""

    TOLD_APART = "told apart"
    NOT_SHOWN = "no difference detected"


@dataclass(frozen=True)
class TypicalImage:
    """An image that looks like its own set rather than the other.

    ``typicality`` is the share of the images of the other set, among those tested with it, that look less like its set;
    ``log_odds`` are those of being of its set rather than of the other.
    """

    model: str
    test_set: str
    image: str
    label: str
    typicality: float
    log_odds: float


@dataclass(frozen=True, eq=False)
class ShiftScores:
    """The ``typicality`` (n,) and ``log_odds`` (n,), of being of their own set, of the images at ``positions`` (n,)."""

    test_set: TestSet
    positions: IntArray
    typicality: FloatArray
    log_odds: FloatArray

    def most_typical(self, model: str, most: int) -> Iterator[TypicalImage]:
        """The images that look most like their set; those with equal typicality by their log odds."""
        for place in np.lexsort((-self.log_odds, -self.typicality))[:most].tolist():
            position = int(self.positions[place])
            yield TypicalImage(
                model,
                self.test_set.name,
                self.test_set.ids[position],
                self.test_set.class_space.names[self.test_set.labels[position]],
                float(self.typicality[place]),
                float(self.log_odds[place]),
            )


@dataclass(frozen=True, eq=False)
class EmbeddingShift:
    """How well embeddings of a model tell new images from original ones: the area under the ROC curve.

    ``without_embeddings`` images of those that were to be compared have none, as if they could not be read.
    """

    model: str
    new_images: int
    original_images: int
    without_embeddings: int
    auc: Estimate
    verdict: ShiftVerdict
    new: ShiftScores = field(metadata=NOT_IN_JSON)
    original: ShiftScores = field(metadata=NOT_IN_JSON)

    def roc_curve(self, rates: FloatArray) -> FloatArray:
        """Shape (k,): the share of new images that are recognized, if ``rates`` (k,) of the original are taken for new.

        Images are compared within their fold, as in `typicality`, so that the area under the curve is ``auc``.
        """
        taken = np.sort(1 - self.new.typicality)
        return np.asarray(np.searchsorted(taken, rates + _ROUNDING, side="right") / len(taken))


@dataclass(frozen=True, repr=False)
class Shift(StudyResult):
    """Whether embeddings tell the images of a new test set from those of the original one, for each model.

    ``shared`` images of the new set are in the original, too, and left out. ``clusters`` is the column of images that
    belong together; None if all are independent. The ``most`` typical images of each set are listed for each model.
    """

    original: str
    new: str
    shared: int
    classes: int
    clusters: str | None
    rows: tuple[EmbeddingShift, ...]
    most: int
    notes: tuple[str, ...] = ()

    @property
    def ranked(self) -> tuple[EmbeddingShift, ...]:
        """The models, the best at telling the sets apart first."""
        return tuple(sorted(self.rows, key=lambda row: -row.auc.value))

    @property
    def typical(self) -> tuple[TypicalImage, ...]:
        """The most typical images of both sets by each model."""
        sides = ((row.model, side) for row in self.rows for side in (row.new, row.original))
        return tuple(image for model, side in sides for image in side.most_typical(model, self.most))

    def json_fields(self) -> dict[str, Any]:
        """The fields, and the most typical images."""
        return {**super().json_fields(), "typical": self.typical}

    @property
    def parts(self) -> tuple[ShiftPart, ...]:
        """The tables that the result has."""
        return tuple(ShiftPart)

    def part(self, part: ShiftPart) -> Table:
        """One of the tables."""
        return self.table() if part is ShiftPart.MODELS else self._images()

    def table(self) -> Table:
        """One row per model, the best at telling the sets apart first."""
        columns = (
            Column("model", "embeddings of"),
            Column("new_images", f"images of {self.new}"),
            Column("original_images", f"images of {self.original}"),
            Column("auc", "area under the ROC curve", percent=False, digits=3),
            Column("verdict", "verdict"),
        )
        rows = tuple(
            (row.model, row.new_images, row.original_images, row.auc, row.verdict.value) for row in self.ranked
        )
        return Table(f"images of {self.new} told from those of {self.original}", columns, rows, self._notes())

    def _images(self) -> Table:
        columns = (
            Column("model", "embeddings of"),
            Column("test_set", "test set"),
            Column("image", "image"),
            Column("label", "label"),
            Column("typicality", "typicality"),
            Column("log_odds", "log odds", percent=False, digits=2),
        )
        rows = tuple(tuple(getattr(row, column.key) for column in columns) for row in self.typical)
        notes = (
            "typicality: share of the images of the other set in the same fold that look less like the set of this one",
            *(f"{row.model} does not tell the sets apart: its images are typical by chance"
              for row in self.rows if row.verdict is ShiftVerdict.NOT_SHOWN),
        )  # fmt: skip
        return Table(f"most typical images of {self.new} and {self.original}, in %", columns, rows, notes)

    def _notes(self) -> tuple[str, ...]:
        together = f"images of one {self.clusters} are in the same fold" if self.clusters else "images are independent"
        simultaneous = "; intervals hold simultaneously for all models" if len(self.rows) > 1 else ""
        return (
            f"0.5: images of {self.new} cannot be told from those of {self.original}; told apart: the interval is "
            f"above 0.5{simultaneous} ({self.rows[0].auc.method})",
            f"both sides have the same share of each of {self.classes:,} classes, drawn at random; {together}",
            "sets that are told apart may differ in what they show, or only in sizes and JPEG compression",
            *self.notes,
        )
