"""The result of a grade: one row per model and slice, and its table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from regrade.core import Column, Estimate, Table
from regrade.core.record import NOT_IN_JSON, json_key
from regrade.stats import EffectiveImages, mark_simultaneous
from regrade.studies.grade.clustered import SliceDependence
from regrade.studies.grade.metrics import GradeMetric
from regrade.studies.scoring import EVERYTHING
from regrade.studies.study_result import StudyResult

_DETAILS = ("anytime", "judgments_needed", "calibration_error", "unanswered", "undetermined")
"""Columns of the table that a narrow terminal leaves out."""


@dataclass(frozen=True)
class GradeRow:
    """One model on one slice; undefined values are None.

    ``multilabel`` counts novel predictions as wrong and ``multilabel_upper`` as correct. If a random sample of them was
    reviewed, ``reviewed`` is the unbiased estimate in between, and ``judgments_needed`` is the number of further
    judgments that reduce its half-width to the target. ``novel`` counts predictions that no one has judged,
    ``unanswered`` examples without a prediction and ``undetermined`` those whose best scored class was not stored; the
    last two count as wrong. ``clean`` is the model's top-1 accuracy on another test set with the same classes.

    ``top1`` and ``top5`` are over all labeled images of the slice. ``top1_same_images`` is top-1 over the images that
    the labels score, averaged in the same way as multi-label accuracy. ``labels_change`` is multi-label accuracy
    (reviewed, if available) minus ``top1_same_images``, with a paired interval.

    ``calibration_error`` compares confidences with top-1 accuracy, for models that stored probabilities and are scored
    among all their classes. ``anytime`` is the multi-label accuracy on these images that a complete review would give,
    with an interval that is valid at any stopping point. ``values`` are those of the requested metrics by name, without
    the undefined ones.

    A row of replicates is the mean over the ``seeds`` of a method, with intervals over seeds and images; ``deviation``
    is the standard deviation of top-1 over seeds.

    If images come in clusters, ``worth`` is what all images are worth to top-1, and ``dependence`` is that of a slice.
    """

    model: str
    slice: str
    top1: Estimate | None
    top5: Estimate | None
    multilabel: Estimate | None
    multilabel_upper: Estimate | None
    reviewed: Estimate | None
    novel: int
    unanswered: int
    undetermined: int
    judgments_needed: int | None
    clean: Estimate | None = None
    top1_same_images: Estimate | None = None
    labels_change: Estimate | None = None
    calibration_error: Estimate | None = None
    anytime: Estimate | None = None
    values: Mapping[str, Estimate] = field(default_factory=dict)
    seeds: int | None = field(default=None, metadata=json_key("seeds", only_if_set=True))
    deviation: float | None = field(default=None, metadata=json_key("standard_deviation", only_if_set=True))
    worth: EffectiveImages | None = field(default=None, metadata=NOT_IN_JSON)
    dependence: SliceDependence | None = field(default=None, metadata=NOT_IN_JSON)

    @property
    def images(self) -> int:
        """The number of images of the slice that count for the model."""
        shown = self.top1 or self.multilabel
        return shown.n if shown else 0

    def mark_simultaneous(self, slices: int, confidence: float) -> GradeRow:
        """The row with the number of simultaneous slices added to the methods of its intervals."""
        estimates = {name: value for name, value in vars(self).items() if isinstance(value, Estimate)}
        named: dict[str, Any] = {
            name: mark_simultaneous(value, slices, confidence=confidence) for name, value in estimates.items()
        }
        values = {name: mark_simultaneous(value, slices, confidence=confidence) for name, value in self.values.items()}
        return replace(self, values=values, **named)


@dataclass(frozen=True, repr=False)
class Grade(StudyResult, records="rows"):
    """The grade of all models on a test set, best first.

    The intervals of a model on several slices are simultaneous. ``hard_slices`` were selected because models find them
    hard.
    """

    test_set: str
    labels: str | None
    labels_version: int | None
    rule: str | None
    rows: tuple[GradeRow, ...]
    notes: tuple[str, ...]
    hard_slices: tuple[str, ...] = ()
    metrics: tuple[GradeMetric, ...] = field(default=(), metadata=NOT_IN_JSON)

    def table(self) -> Table:
        """One row per model and slice; empty columns are left out."""
        columns = [Column("model", "model")]
        if any(row.slice != EVERYTHING for row in self.rows):
            columns += [Column("slice", "slice"), Column("images", "images")]
        if self._has("top1") or not self.labels:
            columns.append(Column("top1", "top-1"))
        columns += [
            Column(key, heading, detail=key == "top5" and bool(self.labels or self.metrics))
            for key, heading in (("clean", "top-1, clean"), ("top5", "top-5"))
            if self._has(key)
        ]
        if self._other_images():
            columns.append(Column("top1_same_images", "top-1, same images", detail=True))
        if self.labels:
            upper = self._has("multilabel_upper") and any(row.novel for row in self.rows)
            columns.append(Column("multilabel", "multi-label" + (", novel wrong" if upper else "")))
            if upper:
                columns.append(Column("multilabel_upper", "novel right"))
                columns.append(Column("novel", "novel", detail=True))
        columns += [
            Column(key, heading, detail=key in _DETAILS)
            for key, heading in (
                ("reviewed", "multi-label, reviewed"),
                ("labels_change", "multi-label − top-1"),
                ("anytime", "these images, valid at any stopping point"),
                ("judgments_needed", "judgments needed"),
                ("calibration_error", "calibration error"),
                ("unanswered", "unanswered"),
                ("undetermined", "undetermined"),
                ("seeds", "seeds"),
            )
            if self._has(key)
        ]
        if self._has("seeds"):
            columns.append(Column("deviation", "SD over seeds", digits=2))
        rows = tuple(
            tuple(getattr(row, column.key) for column in columns)
            + tuple(row.values.get(metric.name) for metric in self.metrics)
            for row in self.rows
        )
        columns += [metric.column for metric in self.metrics]
        against = f" against {self.labels}@{self.labels_version}" if self.labels else ""
        return Table(f"{self.test_set}{against}, in %", tuple(columns), rows, self.notes)

    def _has(self, key: str) -> bool:
        """Whether a column has a value worth showing: a count of 0 is not, but 0 judgments needed is."""
        values = [getattr(row, key) for row in self.rows]
        return any(value is not None if key == "judgments_needed" else value for value in values)

    def _other_images(self) -> bool:
        """Whether top-1 over the images that the labels score differs from top-1 over all images."""
        pairs = [(row.top1, row.top1_same_images) for row in self.rows]
        return any(same and (top1 is None or (top1.value, top1.n) != (same.value, same.n)) for top1, same in pairs)

    def with_clean(self, clean: Grade) -> Grade:
        """The grade with the top-1 accuracies of the same models on another test set added."""
        baseline = {row.model: row.top1 for row in clean.rows if row.slice == EVERYTHING}
        rows = tuple(
            replace(row, clean=baseline.get(row.model)) if row.slice == EVERYTHING else row for row in self.rows
        )
        note = f"clean: the same model on {clean.test_set}, among the same classes"
        return replace(self, rows=rows, notes=(*self.notes, note))
