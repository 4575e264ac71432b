"""The result of a study of multi-label accuracy, and its tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from regrade.core import Column, Estimate, InputError, Table
from regrade.core.amounts import amount
from regrade.core.record import NOT_IN_JSON
from regrade.studies.multilabel.ambiguous import AmbiguousClasses
from regrade.studies.multilabel.kinds import KindShare, LabelPair
from regrade.studies.study_result import StudyResult


class MultilabelPart(Enum):
    """The tables of a study of multi-label accuracy."""

    MODELS = "models"
    KINDS = "kinds"
    PAIRS = "pairs"
    AMBIGUOUS = "ambiguous"


@dataclass(frozen=True)
class MultilabelRow:
    """One model on the same images: top-1, multi-label and top-5 accuracy, and multi-label minus each of the others.

    The intervals of the changes are paired and hold for all models together. ``top5`` and its change are None if fewer
    than five classes are stored, or if the fifth place is tied. ``gained`` and ``lost`` count images that are right
    only by the labels, or only by top-1; ``novel`` predictions that no one has judged count as wrong.
    """

    model: str
    top1: Estimate
    multilabel: Estimate
    change: Estimate
    top5: Estimate | None
    top5_change: Estimate | None
    gained: int
    lost: int
    novel: int


@dataclass(frozen=True, repr=False)
class Multilabel(StudyResult, records="rows"):
    """What counting every right label changes, for each model and in the median; best multi-label accuracy first.

    ``change`` and ``top5_change`` are medians over models; the latter is over those that have top-5, None without any.
    ``several`` is the share of scored images with two or more right labels, ``labels_each`` their mean number of right
    labels, None if fewer than two images have several. ``kinds`` and ``pairs`` are about all ``scored`` images, the
    rows about the ``images`` that count for every model. ``ambiguous`` is about scored images with an original
    label; it is part of the JSON output if its smallest number of images was given.
    """

    test_set: str
    labels: str
    rule: str
    confidence: float
    images: int
    scored: int
    rows: tuple[MultilabelRow, ...]
    change: Estimate
    top5_change: Estimate | None
    several: Estimate
    labels_each: Estimate | None
    kinds: tuple[KindShare, ...]
    pairs: tuple[LabelPair, ...]
    notes: tuple[str, ...]
    ambiguous: AmbiguousClasses = field(metadata=NOT_IN_JSON)
    has_min_images: bool = field(metadata=NOT_IN_JSON)

    def json_fields(self) -> dict[str, Any]:
        """The fields, with the ambiguous classes if they were asked for by their number of images."""
        return {**super().json_fields(), **({"ambiguous": self.ambiguous} if self.has_min_images else {})}

    @property
    def title(self) -> str:
        """The test set and the labels, for headings."""
        return f"{self.test_set} under {self.labels}"

    @property
    def with_top5(self) -> int:
        """The number of models that have top-5."""
        return sum(row.top5 is not None for row in self.rows)

    def table(self) -> Table:
        """One row per model."""
        top5 = self.with_top5 > 0
        columns = [
            Column("model", "model"),
            Column("top1", "top-1"),
            Column("multilabel", "multi-label"),
            Column("change", "minus top-1"),
        ]
        columns += [Column("top5", "top-5"), Column("top5_change", "minus top-5")] if top5 else []
        columns += [
            Column("gained", "right only by labels", detail=True),
            Column("lost", "right only by top-1", detail=True),
        ]
        columns += [Column("novel", "novel", detail=True)] if any(row.novel for row in self.rows) else []
        rows = tuple(tuple(getattr(row, column.key) for column in columns) for row in self.rows)
        return Table(
            f"multi-label accuracy on {self.title}, in %", tuple(columns), rows, (*self._summary(), *self.notes)
        )

    @property
    def parts(self) -> tuple[MultilabelPart, ...]:
        """The tables with rows."""
        empty = {MultilabelPart.PAIRS: not self.pairs, MultilabelPart.AMBIGUOUS: not self.ambiguous.classes}
        return tuple(part for part in MultilabelPart if not empty.get(part))

    def part(self, part: MultilabelPart) -> Table:
        """Return one of the tables."""
        if part not in self.parts:
            raise InputError(f"the table {part.value} is empty: {self._why_empty(part)} under {self.labels}")
        tables = {
            MultilabelPart.MODELS: self.table,
            MultilabelPart.KINDS: self.kind_table,
            MultilabelPart.PAIRS: self.pair_table,
            MultilabelPart.AMBIGUOUS: self.ambiguous_table,
        }
        return tables[part]()

    def _why_empty(self, part: MultilabelPart) -> str:
        if part is MultilabelPart.PAIRS:
            return "no image has several right labels"
        least = amount(self.ambiguous.min_images, "scored image")
        return f"no original class has {least} (--min-images)"

    def kind_table(self) -> Table:
        """One row per automatic kind of image."""
        columns = (Column("kind", "images"), Column("images", "number"), Column("share", "share"))
        rows = tuple((row.kind.value, row.images, row.share) for row in self.kinds)
        rule = (
            "kinds follow from the classes, no image was looked at. One object: right labels connected by collapsed "
            "classes or common parents; similar: also by common superclasses; several objects: not connected"
        )
        if len(rows) == 1:
            rule = "nothing relates the classes of this test set: kinds of images with several labels are unknown"
        notes = (*self._labels_note(), rule, f"intervals: {self.kinds[0].share.method}")
        return Table(f"images of {self.title} with several right labels, in % of {self.scored:,}", columns, rows, notes)

    def pair_table(self) -> Table:
        """One row per pair of classes that are right on the same images, most frequent first."""
        columns = tuple(Column(key, key) for key in ("first", "second", "images", "relation"))
        rows = tuple(
            (pair.first, pair.second, pair.images, pair.relation and pair.relation.value) for pair in self.pairs
        )
        return Table(f"classes that are right on the same images of {self.title}", columns, rows)

    def ambiguous_table(self) -> Table:
        """One row per original class, the most surely ambiguous first."""
        return self.ambiguous.table(self.title)

    def _summary(self) -> tuple[str, ...]:
        lines = [f"median of {amount(len(self.rows), 'model')}, multi-label minus top-1: {self.change} points"]
        if self.top5_change:
            models = amount(self.with_top5, "model")
            lines.append(f"median of {models}, multi-label minus top-5: {self.top5_change} points")
        return (*lines, *self._labels_note())

    def _labels_note(self) -> tuple[str, ...]:
        each = f"; on average {_plain(self.labels_each)} right labels each" if self.labels_each else ""
        return (f"images with several right labels: {self.several}% of {self.scored:,}{each}",)


def _plain(number: Estimate) -> str:
    return f"{number.value:.2f} [{number.low:.2f}, {number.high:.2f}]"
