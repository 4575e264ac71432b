"""A published figure held against our own: as printed, as recomputed, and what became of the two."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from regrade.core import Column, Table, Tabular


class Outcome(Enum):
    """What became of a published figure."""

    MATCH = "match"
    """Ours lies within the tolerance."""
    MISS = "miss"
    """It does not, and no one knows why."""
    EXPLAINED = "explained"
    """It does not, and the reason is known."""


@dataclass(frozen=True)
class Cell:
    """One figure of a paper; ``tolerance`` is how far ours may lie from it, ``why`` the reason where it does not.

    ``published`` is none where what the paper prints could not be checked: ours then matches nothing.
    """

    table: str
    cell: str
    published: float | None
    ours: float | None
    tolerance: float
    why: str = ""

    @property
    def outcome(self) -> Outcome:
        """Whether ours is the published figure; one that could not be computed is none."""
        far = None if self.ours is None or self.published is None else abs(self.ours - self.published)
        if far is not None and far <= self.tolerance * (1 + 1e-9):
            return Outcome.MATCH
        return Outcome.EXPLAINED if self.why else Outcome.MISS


@dataclass(frozen=True, repr=False)
class Replication(Tabular):
    """Every figure of a paper that can be recomputed."""

    paper: str
    cells: tuple[Cell, ...]
    notes: tuple[str, ...] = ()

    def count(self, outcome: Outcome) -> int:
        """How many cells came out so."""
        return sum(cell.outcome is outcome for cell in self.cells)

    def as_dict(self) -> dict[str, Any]:
        """The replication, ready for JSON."""
        cells = [{**asdict(cell), "outcome": cell.outcome.value} for cell in self.cells]
        return {"paper": self.paper, "cells": cells, "notes": list(self.notes)}

    def table(self) -> Table:
        """One line a cell."""
        columns = (
            Column("table", "table"),
            Column("cell", "cell"),
            Column("published", "published", percent=False, digits=4),
            Column("ours", "ours", percent=False, digits=4),
            Column("tolerance", "tolerance", percent=False, digits=4),
            Column("outcome", "outcome"),
            Column("why", "why"),
        )
        rows = tuple(
            (one.table, one.cell, one.published, one.ours, one.tolerance, one.outcome.value, one.why)
            for one in self.cells
        )
        counts = ", ".join(f"{self.count(outcome):,} {outcome.value}" for outcome in Outcome)
        return Table(f"{self.paper}: {counts}", columns, rows, self.notes)
