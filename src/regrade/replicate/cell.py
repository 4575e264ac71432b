"""Cells: a printed figure, the recomputed value, their comparison; and the coverage of a paper by its cells."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from importlib import resources
from typing import Any

from regrade.core import Column, FormatError, InputError, Table, Tabular, UnknownName
from regrade.core.record import Record

Place = tuple[str, str, str]
"""The place of a figure in its paper: the table, figure or section, the row, and the column."""

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_TRIPLED = ("tripling", "more than triple", "more than tripled")
_POWER = re.compile(r"(\d+) x 10\^(-?\d+)")

_SLACK = 1 + 1e-9  # factor on a tolerance, for floating-point error at its edge


@dataclass(frozen=True)
class PrintedFigure:
    """A figure as printed; ``value`` is the number it states, ``half_unit`` half a unit of its last printed digit."""

    paper: str
    where: str
    row: str
    column: str
    text: str

    @property
    def place(self) -> Place:
        """The key of the figure in its paper."""
        return self.where, self.row, self.column

    @property
    def value(self) -> float:
        """The number; a text without a number raises."""
        return number(self.text)[0]

    @property
    def half_unit(self) -> float:
        """The largest rounding error of the printed number."""
        return number(self.text)[1]


@cache
def printed_figures(paper: str) -> Mapping[Place, PrintedFigure]:
    """All figures that a paper prints, in the order of the list."""
    figures = (
        PrintedFigure(paper, row["where"], row["row"], row["column"], row["value"])
        for row in packaged_rows("printed.csv")
        if row["paper"] == paper
    )
    return {figure.place: figure for figure in figures}


def printed_figure(paper: str, where: str, row: str, column: str) -> PrintedFigure:
    """The figure at a place; an unknown place raises."""
    figures = printed_figures(paper)
    if (where, row, column) not in figures:
        raise UnknownName("printed figure", f"{where}, {row}, {column}", [", ".join(place) for place in figures])
    return figures[where, row, column]


@cache
def packaged_rows(file: str) -> tuple[dict[str, str], ...]:
    """The rows of a CSV file that comes with the package."""
    content = (resources.files("regrade.replicate") / "data" / file).read_text(encoding="utf-8")
    return tuple(csv.DictReader(content.splitlines()))


def number(text: str) -> tuple[float, float]:
    """The number that a text states, and half a unit of its last digit, or the margin that the text gives.

    >>> number("97.9"), number("-20.26 ± 0.05")
    ((97.9, 0.05), (-20.26, 0.05))
    >>> number("+2"), number("2 x 10^-4"), number("five")
    ((2.0, 0.5), (0.0002, 5e-05), (5.0, 0.5))
    """
    center, _, margin = text.partition(" ± ")
    if margin:
        return float(center), float(margin)
    plain = text.lower().replace(",", "").removeprefix("±")
    if plain in _WORDS:
        return float(_WORDS.index(plain)), 0.5
    if plain in _TRIPLED:
        return 3.0, 0.5
    if power := _POWER.fullmatch(plain):
        unit = 10.0 ** int(power[2])
        return int(power[1]) * unit, unit / 2
    try:
        return float(plain), 0.5 * 10.0 ** -len(plain.partition(".")[2])
    except ValueError:
        raise FormatError(f"{text!r} is not a number") from None


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
    missing: str = ""

    @classmethod
    def of(cls, paper: str, cells: Iterable[Cell], notes: Iterable[str] = (), missing: str = "") -> Replication:
        """The replication of a paper; each cell gets its deviation listed in ``data/deviations.csv``.

        ``missing`` is the name of an optional file that was not given.
        """
        return cls(paper, tuple(map(with_deviation, cells)), tuple(notes), missing)

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
        return coverage(self.paper, data, construction, missing=self.missing)

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


def coverage(
    paper: str, from_data: Iterable[PrintedFigure], by_construction: Iterable[PrintedFigure], *, missing: str = ""
) -> Coverage:
    """The coverage of a paper by the figures that have a cell, with the reasons in ``data/coverage.csv``.

    ``missing`` is an optional file that was not given: the figures that it would cover, in ``data/optional.csv``, are
    listed as coverable with it.
    """
    listed = printed_figures(paper)
    data = {figure.place for figure in from_data} & listed.keys()
    construction = {figure.place for figure in by_construction} & listed.keys() - data
    printed_in, data_in, construction_in = (
        Counter(where for where, *_ in group) for group in (listed, data, construction)
    )
    reasons = {row["where"]: row for row in packaged_rows("coverage.csv") if row["paper"] == paper}
    optional = {row["where"]: row["figures"] for row in packaged_rows("optional.csv") if row["paper"] == paper}
    with_file = {where: f"with {missing} in --data: {figures}" for where, figures in optional.items() if missing}
    return Coverage(
        tuple(
            CoveredPart(
                where,
                printed,
                data_in[where],
                construction_in[where],
                *_reasons(reasons.get(where, {}), with_file.get(where, "")),
            )
            for where, printed in printed_in.items()
        )
    )


def _reasons(row: Mapping[str, str], with_file: str) -> tuple[str, str, str]:
    coverable = "; ".join(filter(None, (row.get("coverable", ""), with_file)))
    return coverable, row.get("not_coverable", ""), row.get("no_result", "")


def _described(part: CoveredPart) -> str:
    counts = ((part.from_data, "from data"), (part.by_construction, "by construction"))
    covered = " and ".join(f"{count} {how}" for count, how in counts if count)
    return f"{part.where} ({covered}, of {part.printed})"
