"""The result of a class-map study: errors by class, and accuracy, disparity and conclusions under other maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum

from regrade.core import Column, Estimate, InputError, Table
from regrade.studies.study_result import StudyResult


class ClassMapPart(Enum):
    """The tables of a class-map study."""

    MAPS = "maps"
    CLASSES = "classes"
    OMISSIONS = "omissions"


class MapEffect(StrEnum):
    """What another map does to the conclusion about the groups of images."""

    ANOTHER_GROUP = "another group is the best or the worst"
    DISPARITY = "the disparity is another one"
    SAME = "the same best and worst group"
    OPEN = "not enough data to tell"


@dataclass(frozen=True)
class GroupAccuracy:
    """The accuracy of a group of images under one map; intervals hold for all groups together."""

    group: str
    accuracy: Estimate


@dataclass(frozen=True)
class MapRow:
    """One model under one map; ``change`` and ``disparity_change`` are against the first map, on the same images.

    The first map has no change and no effect. Without groups, or if a group has a single image or household, there is
    no disparity. ``images`` count under this map and under the first one.
    """

    model: str
    map: str
    images: int
    accuracy: Estimate
    change: Estimate | None
    disparity: Estimate | None
    disparity_change: Estimate | None
    best: str | None
    worst: str | None
    effect: MapEffect | None
    groups: tuple[GroupAccuracy, ...]


@dataclass(frozen=True)
class ClassErrors:
    """One class of the labels: its accuracy, its share of all errors of a model, and what is predicted instead."""

    model: str
    class_name: str
    mapped: tuple[str, ...]
    images: int
    accuracy: Estimate
    errors: int
    share_of_errors: Estimate | None
    wrong: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class OmissionRow:
    """A model without one of the predicted classes that are accepted for a class; changes are on the same images."""

    model: str
    class_name: str
    left_out: str
    images: int
    class_change: Estimate | None
    change: Estimate
    disparity_change: Estimate | None


@dataclass(frozen=True, repr=False)
class ClassMapAudit(StudyResult, records="maps"):
    """The audit of a class map: models best first, each under the first map and then under the others."""

    test_set: str
    first_map: str
    by: str | None
    clusters: str | None
    top: int
    confidence: float
    maps: tuple[MapRow, ...]
    classes: tuple[ClassErrors, ...]
    omissions: tuple[OmissionRow, ...]
    notes: tuple[str, ...]

    @property
    def parts(self) -> tuple[ClassMapPart, ...]:
        """The tables."""
        return tuple(part for part in ClassMapPart if part is not ClassMapPart.OMISSIONS or self.omissions)

    def part(self, part: ClassMapPart) -> Table:
        """Return one of the tables."""
        match part:
            case ClassMapPart.MAPS:
                return self.table()
            case ClassMapPart.CLASSES:
                return self.class_table()
            case ClassMapPart.OMISSIONS:
                return self.omission_table()

    def of_model(self, model: str) -> tuple[MapRow, ...]:
        """The rows of a model, that of the first map first."""
        return tuple(row for row in self.maps if row.model == model)

    def table(self) -> Table:
        """One row per model and map."""
        grouped = self.by is not None and any(row.disparity for row in self.maps)
        columns = [
            Column("model", "model"),
            Column("map", "map"),
            Column("images", "images", detail=True),
            Column("accuracy", f"top-{self.top}"),
        ]
        several = any(row.change for row in self.maps)
        if several:
            columns.append(Column("change", "change"))
        if grouped:
            columns.append(Column("disparity", "disparity", detail=several))
        if grouped and several:
            columns.append(Column("disparity_change", "change of disparity"))
        if grouped:
            columns += [Column("best", "best"), Column("worst", "worst")]
        if grouped and several:
            columns.append(Column("effect", "conclusion"))
        rows = tuple(tuple(getattr(row, column.key) for column in columns) for row in self.maps)
        return Table(f"{self._title} under {self.first_map} and other maps, in %", tuple(columns), rows, self.notes)

    def class_table(self) -> Table:
        """One row per model and class, those with most errors first."""
        columns = (
            Column("model", "model"),
            Column("class_name", "class"),
            Column("images", "images"),
            Column("accuracy", f"top-{self.top}"),
            Column("share_of_errors", "share of errors"),
            Column("mapped", "accepted", detail=True),
            Column("wrong", "most frequent wrong predictions"),
        )
        rows = tuple(
            (
                row.model,
                row.class_name,
                row.images,
                row.accuracy,
                row.share_of_errors,
                _few(row.mapped),
                ", ".join(f"{name} {count}" for name, count in row.wrong),
            )
            for row in self.classes
        )
        return Table(f"errors on {self._title} by class, under {self.first_map}, in %", columns, rows, self.notes)

    def omission_table(self) -> Table:
        """One row per model and predicted class that is left out, the largest change first."""
        if not self.omissions:
            raise InputError(f"{self.first_map} maps one class to each class: leaving it out leaves nothing to compare")
        columns = [
            Column("model", "model"),
            Column("class_name", "class"),
            Column("left_out", "without"),
            Column("images", "images of class", detail=True),
            Column("class_change", "change of class"),
            Column("change", "change", digits=2),
        ]
        if any(row.disparity_change for row in self.omissions):
            columns.append(Column("disparity_change", "change of disparity", digits=2))
        rows = tuple(tuple(getattr(row, column.key) for column in columns) for row in self.omissions)
        title = f"{self._title}: {self.first_map} without one accepted class, in points"
        return Table(title, tuple(columns), rows, self.notes)

    @property
    def _title(self) -> str:
        return self.test_set if self.by is None else f"{self.test_set} by {self.by}"


def _few(names: Sequence[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
