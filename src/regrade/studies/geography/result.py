"""Result of the geography study: accuracy of every model in every group, disparities and progress."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from regrade.core import Cell, Column, Estimate, InputError, Table
from regrade.studies.geography.progress import DisparityGrowth, Progress
from regrade.studies.study_result import StudyResult

_MAX_COLUMNS = 8  # with more groups, they are left out of the models table


class GeographyPart(Enum):
    """The tables of a study of geography."""

    MODELS = "models"
    GROUPS = "groups"
    PROGRESS = "progress"


@dataclass(frozen=True)
class GroupSize:
    """A group with the number of images that count for any model, and the number of their clusters."""

    name: str
    images: int
    clusters: int | None


@dataclass(frozen=True)
class Disparity:
    """A model's disparity: the accuracy of its best group minus that of its worst (Richards et al. 2023).

    ``value`` is biased upwards by at most ``chance``, the expected disparity of equal groups; its interval accounts for
    this. ``settled`` says whether the two groups differ significantly, corrected for their selection. ``lowest`` is the
    accuracy of the worst group, with an interval for the lowest true accuracy, whichever group has it.
    """

    value: Estimate
    chance: float
    best: str
    worst: str
    settled: bool
    lowest: Estimate


@dataclass(frozen=True)
class ModelByGroup:
    """One model's accuracy overall, on the original and per group; its disparity, and differences ``between`` groups.

    A group without an image that counts for this model is None, and then so is the disparity.
    """

    model: str
    overall: Estimate
    original: Estimate | None
    groups: tuple[Estimate | None, ...]
    disparity: Disparity | None
    between: tuple[Estimate | None, ...]


@dataclass(frozen=True, repr=False)
class Geography(StudyResult, records="rows"):
    """Models by group, best first; ``progress`` and ``growth`` are None if undefined."""

    test_set: str
    by: str
    top: int
    confidence: float
    clusters: str | None
    groups: tuple[GroupSize, ...]
    edges: tuple[float, ...]
    between: tuple[tuple[str, str], ...]
    rows: tuple[ModelByGroup, ...]
    progress: Progress | None
    growth: DisparityGrowth | None
    notes: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the groups."""
        return tuple(group.name for group in self.groups)

    def row(self, model: str) -> ModelByGroup:
        """Return the row of one model."""
        return next(row for row in self.rows if row.model == model)

    def table(self) -> Table:
        """Return one row per model, with a column per group if there are few; the notes summarize all models."""
        shown = self.groups if len(self.groups) <= _MAX_COLUMNS else ()
        columns = [
            Column("model", "model"),
            *((Column("original", "original"),) if self._has_original else ()),
            Column("overall", f"top-{self.top}"),
            *(Column(f"{self.by}={group.name}", group.name) for group in shown),
            Column("disparity", "disparity"),
            Column("chance", "by chance", detail=True),
            Column("best", "best", detail=True),
            Column("worst", "worst", detail=True),
            Column("lowest", "lowest"),
            *(Column(f"{first}-{second}", f"{first} - {second}") for first, second in self.between),
        ]
        rows = tuple(self._cells(row, row.groups[: len(shown)]) for row in self.rows)
        return Table(f"{self.test_set} by {self.by}, in %", tuple(columns), rows, self._table_notes())

    @property
    def _has_original(self) -> bool:
        return any(row.original for row in self.rows)

    def _cells(self, row: ModelByGroup, groups: tuple[Estimate | None, ...]) -> tuple[Cell, ...]:
        gap = row.disparity
        return (
            row.model,
            *((row.original,) if self._has_original else ()),
            row.overall,
            *groups,
            *((gap.value, gap.chance, gap.best, gap.worst, gap.lowest) if gap else (None,) * 5),
            *row.between,
        )

    @property
    def parts(self) -> tuple[GeographyPart, ...]:
        """The available tables."""
        return tuple(part for part in GeographyPart if part is not GeographyPart.PROGRESS or self.progress)

    def part(self, part: GeographyPart) -> Table:
        """Return one of the tables; the progress table raises if there is no progress."""
        match part:
            case GeographyPart.MODELS:
                return self.table()
            case GeographyPart.GROUPS:
                return self.groups_table()
            case GeographyPart.PROGRESS:
                return self.progress_table()

    def groups_table(self) -> Table:
        """Return one row per model and group."""
        columns = (
            Column("model", "model"),
            Column("group", self.by),
            Column("accuracy", f"top-{self.top}"),
            Column("images", "images"),
            *((Column("clusters", self.clusters, detail=True),) if self.clusters else ()),
        )
        rows = tuple(
            (
                row.model,
                group.name,
                accuracy,
                accuracy.n if accuracy else 0,
                *((group.clusters,) if self.clusters else ()),
            )
            for row in self.rows
            for group, accuracy in zip(self.groups, row.groups, strict=True)
        )
        return Table(f"{self.test_set} in every {self.by}, in %", columns, rows, self._table_notes())

    def progress_table(self) -> Table:
        """Return one row per benchmark and group: its progress rate, and the gap to the geographic set."""
        if self.progress is None:
            why = next((note for note in self.notes if note.startswith("no progress rates")), None)
            raise InputError(why or "progress needs an original test set: name it with --original")
        columns = (
            Column("benchmark", "benchmark"),
            Column("kind", "kind"),
            Column("rate", "rate", percent=False, digits=2),
            Column("drawn", "rate, models drawn", percent=False, digits=2, detail=True),
            Column("r_squared", "R²", percent=False, digits=3, detail=True),
            Column("gap", "gap", percent=False, digits=2),
            Column("ratio", "ratio"),
        )
        gaps = {gap.standard: gap for gap in self.progress.gaps}
        rows: list[tuple[Cell, ...]] = []
        for rate in self.progress.rates:
            gap = gaps.get(rate.benchmark)
            cells = (gap.difference, str(gap.ratio)) if gap else (None, None)
            rows.append((rate.benchmark, rate.kind.value, rate.rate, rate.line.slope, rate.line.r_squared, *cells))
        line = self.progress.disparity
        rows.append((f"disparity by {self.by}", "disparity", line.robust_slope, line.slope, line.r_squared, None, None))
        apart = f"{self.progress.extremes[0]} - {self.progress.extremes[1]}"
        rows.append((apart, "disparity", self.progress.apart, None, None, None, None))
        title = f"{self.test_set}: points gained with a point on {self.progress.original}"
        return Table(title, columns, tuple(rows), self._table_notes())

    def _table_notes(self) -> tuple[str, ...]:
        together = self.progress.in_words() if self.progress else ()
        return (*together, *((self.growth.in_words(),) if self.growth else ()), *self.notes)
