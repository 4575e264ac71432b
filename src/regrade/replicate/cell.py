"""Cells: a printed figure, the recomputed value, their comparison; and the coverage of a paper by its cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from regrade.core import Column, InputError, Table, Tabular
from regrade.core.record import Record
from regrade.replicate.printed import PrintedFigure, number, packaged_rows, printed_figures

_SLACK = 1 + 1e-9  # factor on a tolerance, for floating-point error at its edge


class CellOutcome(Enum):
    """The outcome of comparing a printed figure with ours."""

    MATCH = "match"
    """Ours is the printed figure, within the tolerance."""
    MISS = "miss"
    """Ours is neither the printed figure nor the value expected instead, or could not be computed."""
    EXPLAINED = "explained"
    """Ours is not the printed figure but the value expected instead, and the reason is given."""


class CellKind(Enum):
    """What our value is computed from."""

    DATA = "data"
    """Ours is recomputed from published data."""
    CONSTRUCTION = "by construction"
    """Ours follows from a definition, a simulation or other printed figures."""


@dataclass(frozen=True)
class Cell(Record):
    """One printed figure and ours, computed from ``basis``.

    If ours is known to differ, ``expected`` is the value it must have, to the digits given, and ``why`` the reason.
    ``within`` is the tolerance (default: half a unit of the last printed digit).
    """

    printed: PrintedFigure
    ours: float | None
    basis: str = ""
    kind: CellKind = CellKind.DATA
    within: float | None = None
    expected: str = ""
    why: str = ""

    def __post_init__(self) -> None:
        if bool(self.expected) != bool(self.why):
            raise InputError(f"{self.name}: expected and why must be given together")

    def json_fields(self) -> dict[str, Any]:
        """The figure, as printed and as recomputed."""
        return {
            "table": self.printed.where,
            "cell": self.name,
            "basis": self.basis,
            "kind": self.kind,
            "published": self.printed.value,
            "ours": self.ours,
            "tolerance": self.tolerance,
            "expected": number(self.expected)[0] if self.expected else None,
            "outcome": self.outcome,
            "why": self.why,
        }

    @property
    def name(self) -> str:
        """The row and the column of the figure."""
        return f"{self.printed.row}, {self.printed.column}"

    @property
    def tolerance(self) -> float:
        """How far ours may lie from the printed figure."""
        return self.printed.half_unit if self.within is None else self.within

    @property
    def outcome(self) -> CellOutcome:
        """Whether ours is the printed figure, or the expected value if there is one."""
        if self.expected:
            return CellOutcome.EXPLAINED if self._near(self.ours, *number(self.expected)) else CellOutcome.MISS
        return CellOutcome.MATCH if self._near(self.ours, self.printed.value, self.tolerance) else CellOutcome.MISS

    @staticmethod
    def _near(ours: float | None, value: float, tolerance: float) -> bool:
        return ours is not None and abs(ours - value) <= tolerance * _SLACK


@dataclass(frozen=True, repr=False)
class Replication(Tabular):
    """Every figure of a paper that can be recomputed."""

    paper: str
    cells: tuple[Cell, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, paper: str, cells: Iterable[Cell], notes: Iterable[str] = ()) -> Replication:
        """The replication of a paper; each cell gets its deviation listed in ``data/deviations.csv``."""
        return cls(paper, tuple(map(with_deviation, cells)), tuple(notes))

    def json_fields(self) -> dict[str, Any]:
        """The cells, with the counts of their outcomes and what is covered."""
        return {
            "paper": self.paper,
            "counts": {kind: {outcome: self.count(outcome, kind) for outcome in CellOutcome} for kind in CellKind},
            "cells": self.cells,
            "coverage": self.coverage.parts,
            "notes": self.notes,
        }

    def count(self, outcome: CellOutcome, kind: CellKind | None = None) -> int:
        """The number of cells with an outcome (default: of both kinds)."""
        return sum(cell.outcome is outcome for cell in self.cells if kind in (None, cell.kind))

    @property
    def headline(self) -> str:
        """The counts of outcomes, separately for figures recomputed from data and by construction."""
        data, construction = (self._counts(kind) for kind in CellKind)
        return f"recomputed from data: {data}; by construction: {construction}"

    @property
    def coverage(self) -> Coverage:
        """Which tables and sections of the paper are covered, and why others are not."""
        data, construction = ([cell.printed for cell in self.cells if cell.kind is kind] for kind in CellKind)
        return coverage(self.paper, data, construction)

    def table(self) -> Table:
        """One line per cell."""
        columns = (
            Column("table", "table"),
            Column("cell", "cell"),
            Column("basis", "basis"),
            Column("kind", "kind"),
            Column("published", "published", percent=False, digits=4),
            Column("ours", "ours", percent=False, digits=4),
            Column("tolerance", "tolerance", percent=False, digits=4),
            Column("expected", "expected", percent=False, digits=4),
            Column("outcome", "outcome"),
            Column("why", "why"),
        )
        rows = tuple(tuple(cell.as_dict().values()) for cell in self.cells)
        return Table(f"{self.paper}: {self.headline}", columns, rows, (*self.notes, *self.coverage.lines()))

    def _counts(self, kind: CellKind) -> str:
        if all(cell.kind is not kind for cell in self.cells):
            return "none"
        return ", ".join(f"{self.count(outcome, kind):,} {outcome.value}" for outcome in CellOutcome)


def with_deviation(cell: Cell) -> Cell:
    """The cell with its expected value, if ``data/deviations.csv`` lists one."""
    key = deviation_key(cell)
    for row in packaged_rows("deviations.csv"):
        if (row["paper"], row["where"], row["row"], row["column"], row["basis"]) == key:
            return replace(cell, expected=row["expected"], why=row["why"])
    return cell


def deviation_key(cell: Cell) -> tuple[str, ...]:
    """The key of a cell in the list of deviations."""
    return cell.printed.paper, *cell.printed.place, cell.basis


@dataclass(frozen=True)
class CoveredPart:
    """A table, section or caption: how many figures it prints, how many have a cell, and why the rest have none.

    ``coverable`` names figures that published data would allow, ``not_coverable`` those that it does not, and
    ``no_result`` figures that are not results.
    """

    where: str
    printed: int
    from_data: int
    by_construction: int
    coverable: str
    not_coverable: str
    no_result: str


@dataclass(frozen=True)
class Coverage:
    """The coverage of a paper, part by part."""

    parts: tuple[CoveredPart, ...]

    def lines(self) -> tuple[str, ...]:
        """Four sentences: covered, not covered although data would allow, not coverable, and nothing to recompute."""
        covered = [_described(part) for part in self.parts if part.from_data or part.by_construction]
        return (
            f"covered: {'; '.join(covered) or 'nothing'}",
            self._reasons("not covered although data would allow", "coverable"),
            self._reasons("not coverable", "not_coverable"),
            self._reasons("nothing of its own to recompute", "no_result"),
        )

    def _reasons(self, label: str, field: str) -> str:
        reasons = [f"{part.where} ({getattr(part, field)})" for part in self.parts if getattr(part, field)]
        return f"{label}: {'; '.join(reasons) or 'nothing'}"


def coverage(paper: str, from_data: Iterable[PrintedFigure], by_construction: Iterable[PrintedFigure]) -> Coverage:
    """The coverage of a paper by the figures that have a cell, with the reasons in ``data/coverage.csv``."""
    listed = printed_figures(paper)
    data = {figure.place for figure in from_data} & listed.keys()
    construction = {figure.place for figure in by_construction} & listed.keys() - data
    printed_in, data_in, construction_in = (
        Counter(where for where, *_ in group) for group in (listed, data, construction)
    )
    reasons = {row["where"]: row for row in packaged_rows("coverage.csv") if row["paper"] == paper}
    return Coverage(
        tuple(
            CoveredPart(where, printed, data_in[where], construction_in[where], *_reasons(reasons.get(where, {})))
            for where, printed in printed_in.items()
        )
    )


def _reasons(row: Mapping[str, str]) -> tuple[str, str, str]:
    return row.get("coverable", ""), row.get("not_coverable", ""), row.get("no_result", "")


def _described(part: CoveredPart) -> str:
    counts = ((part.from_data, "from data"), (part.by_construction, "by construction"))
    covered = " and ".join(f"{count} {how}" for count, how in counts if count)
    return f"{part.where} ({covered}, of {part.printed})"
