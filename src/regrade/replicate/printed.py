"""The figures that the papers print, by their place, as listed in ``data/printed.csv``."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from regrade.core import FormatError, UnknownName

Place = tuple[str, str, str]
"""The place of a figure in its paper: the table, figure or section, the row, and the column."""

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_TRIPLED = ("tripling", "more than triple", "more than tripled")
_POWER = re.compile(r"(\d+) x 10\^(-?\d+)")


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
