"""What a study of geography says: every model in every group, how far apart the groups are, and progress."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from regrade.core import Cell, Column, Estimate, Table, Tabular
from regrade.studies.geography.growth import DisparityGrowth
from regrade.studies.geography.progress import Progress

_COLUMNS = 8  # groups up to which each has a column of its own


class GeographyPart(Enum):
    """The tables of a study of geography."""

    MODELS = "models"
    GROUPS = "groups"
    PROGRESS = "progress"


@dataclass(frozen=True)
class GroupSize:
    """A group: how many images count in it, for the model that has most, and of how many clusters they are."""

    name: str
    images: int
    clusters: int | None

    def as_dict(self) -> dict[str, Any]:
        """The group, ready for JSON."""
        return {"name": self.name, "images": self.images, "clusters": self.clusters}


@dataclass(frozen=True)
class Disparity:
    """How far apart a model's groups are: the best less the worst (Richards et al. 2023).

    ``value`` is too large on average, by ``chance`` at the most: what equal groups would show. Its interval knows this.
    ``settled`` says whether these two groups differ for sure, though they were picked as the extremes. ``lowest`` is
    the accuracy of the worst group, with an interval for the truly lowest, whichever group that is.
    """

    value: Estimate
    chance: float
    best: str
    worst: str
    settled: bool
    lowest: Estimate

    def as_dict(self) -> dict[str, Any]:
        """The disparity, ready for JSON."""
        return {
            "value": self.value.as_dict(),
            "chance": self.chance,
            "best": self.best,
            "worst": self.worst,
            "settled": self.settled,
            "lowest": self.lowest.as_dict(),
        }


@dataclass(frozen=True)
class ModelByGroup:
    """One model: ``overall``, on the original, in each group in their order, and what lies between groups.

    A group without an image that counts for this model is none, and so is its disparity then.
    """

    model: str
    overall: Estimate
    original: Estimate | None
    groups: tuple[Estimate | None, ...]
    disparity: Disparity | None
    between: tuple[Estimate | None, ...]

    def as_dict(self) -> dict[str, Any]:
        """The row, ready for JSON."""
        return {
            "model": self.model,
            "overall": self.overall.as_dict(),
            "original": _plain(self.original),
            "groups": [_plain(one) for one in self.groups],
            "disparity": None if self.disparity is None else self.disparity.as_dict(),
            "between": [_plain(one) for one in self.between],
        }


@dataclass(frozen=True, repr=False)
class Geography(Tabular):
    """Models by group, best first; ``progress`` and ``growth`` are none where there is too little to tell them."""

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
        """The groups' names."""
        return tuple(group.name for group in self.groups)

    def row(self, model: str) -> ModelByGroup:
        """The row of one model."""
        return next(row for row in self.rows if row.model == model)

    def as_dict(self) -> dict[str, Any]:
        """The study, ready for JSON."""
        return {
            "test_set": self.test_set,
            "by": self.by,
            "top": self.top,
            "confidence": self.confidence,
            "clusters": self.clusters,
            "groups": [group.as_dict() for group in self.groups],
            "edges": list(self.edges),
            "between": [list(pair) for pair in self.between],
            "rows": [row.as_dict() for row in self.rows],
            "progress": None if self.progress is None else self.progress.as_dict(),
            "growth": None if self.growth is None else self.growth.as_dict(),
            "notes": list(self.notes),
        }

    def table(self) -> Table:
        """One line a model; each group has a column if they are few. What the models show together is in the notes."""
        shown = self.groups if len(self.groups) <= _COLUMNS else ()
        columns = [
            Column("model", "model"),
            *((Column("original", "original"),) if self._has_original else ()),
            Column("overall", f"top-{self.top}"),
            *(Column(f"{self.by}={group.name}", group.name) for group in shown),
            Column("disparity", "disparity"),
            Column("chance", "by chance"),
            Column("best", "best"),
            Column("worst", "worst"),
            Column("lowest", "lowest"),
            *(Column(f"{first}-{second}", f"{first} - {second}") for first, second in self.between),
        ]
        rows = tuple(self._cells(row, row.groups[: len(shown)]) for row in self.rows)
        return Table(f"{self.test_set} by {self.by}, in %", tuple(columns), rows, self._told())

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

    def part(self, part: GeographyPart) -> Table:
        """One of the tables."""
        match part:
            case GeographyPart.MODELS:
                return self.table()
            case GeographyPart.GROUPS:
                return self.groups_table()
            case GeographyPart.PROGRESS:
                return self.progress_table()

    def groups_table(self) -> Table:
        """One line a model and group."""
        columns = (
            Column("model", "model"),
            Column("group", self.by),
            Column("accuracy", f"top-{self.top}"),
            Column("images", "images"),
            *((Column("clusters", self.clusters),) if self.clusters else ()),
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
        return Table(f"{self.test_set} in every {self.by}, in %", columns, rows, self._told())

    def progress_table(self) -> Table:
        """One line a benchmark and group: its progress rate, and how far the geographic set falls behind."""
        columns = (
            Column("benchmark", "benchmark"),
            Column("kind", "kind"),
            Column("rate", "rate", percent=False, digits=2),
            Column("drawn", "rate, models drawn", percent=False, digits=2),
            Column("r_squared", "R²", percent=False, digits=3),
            Column("gap", "gap", percent=False, digits=2),
            Column("ratio", "ratio"),
        )
        if self.progress is None:
            return Table(f"{self.test_set}: progress", columns, (), self._told())
        gaps = {gap.standard: gap for gap in self.progress.gaps}
        rows: list[tuple[Cell, ...]] = []
        for one in self.progress.rates:
            gap = gaps.get(one.benchmark)
            known = (gap.difference, str(gap.ratio)) if gap else (None, None)
            rows.append((one.benchmark, one.kind.value, one.rate, one.line.slope, one.line.r_squared, *known))
        line = self.progress.disparity
        rows.append((f"disparity by {self.by}", "disparity", line.robust_slope, line.slope, line.r_squared, None, None))
        apart = f"{self.progress.extremes[0]} - {self.progress.extremes[1]}"
        rows.append((apart, "disparity", self.progress.apart, None, None, None, None))
        title = f"{self.test_set}: points gained with a point on {self.progress.original}"
        return Table(title, columns, tuple(rows), self._told())

    def _told(self) -> tuple[str, ...]:
        together = self.progress.in_words() if self.progress else ()
        return (*together, *((self.growth.in_words(),) if self.growth else ()), *self.notes)


def _plain(estimate: Estimate | None) -> dict[str, Any] | None:
    return None if estimate is None else estimate.as_dict()
