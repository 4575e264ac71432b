"""Intervals and scatter plots as plain geometry, for drawings that a page writes out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from regrade.core import Estimate

_WIDTH, _HEIGHT = 520, 460
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 14, 14, 56
_LETTER = 7.5  # width of a letter of a label
_NAMED = 5  # models that are called by their names


@dataclass(frozen=True)
class AxisRange:
    """A range of shares, as wide as the intervals it shows."""

    low: float
    high: float

    @classmethod
    def over(cls, estimates: Sequence[Estimate | None]) -> AxisRange:
        """The range of all intervals; all shares where there are none."""
        known = [one for one in estimates if one is not None]
        if not known:
            return cls(0.0, 1.0)
        low, high = min(one.low for one in known), max(one.high for one in known)
        room = max(0.03 * (high - low), 0.002)
        return cls(max(0.0, low - room), min(1.0, high + room))

    def at(self, share: float, size: float = 100.0) -> float:
        """Where a share lies on a line of a length."""
        return round(size * (share - self.low) / ((self.high - self.low) or 1.0), 2)

    def ticks(self, most: int = 6) -> list[float]:
        """Round shares within the range."""
        for step in (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5):
            if (self.high - self.low) / step <= most:
                break
        first = math.ceil(self.low / step - 1e-9)
        return [round(number * step, 4) for number in range(first, math.floor(self.high / step + 1e-9) + 1)]


@dataclass(frozen=True)
class Point:
    """One model in a plot: where it and the ends of its intervals are, and where a click leads."""

    name: str
    title: str
    address: str
    person: bool
    x: float
    y: float
    left: float
    right: float
    low: float
    high: float


@dataclass(frozen=True)
class Name:
    """A name beside a point."""

    text: str
    x: float
    y: float
    end: bool


@dataclass(frozen=True)
class Tick:
    """A round share on an axis."""

    text: str
    place: float


@dataclass(frozen=True)
class Scatter:
    """A plot of two shares a model, drawn on a sheet of ``width`` by ``height``."""

    points: tuple[Point, ...]
    names: tuple[Name, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    diagonal: tuple[float, float, float, float] | None
    width: int = _WIDTH
    height: int = _HEIGHT
    left: int = _LEFT
    right: int = _WIDTH - _RIGHT
    top: int = _TOP
    bottom: int = _HEIGHT - _BOTTOM


@dataclass(frozen=True)
class PlotValue:
    """One model's two shares."""

    name: str
    x: Estimate
    y: Estimate
    address: str
    person: bool


def scatter(pairs: Sequence[PlotValue]) -> Scatter:
    """Draw pairs of shares with both intervals; a few that stand out are named."""
    across, up = AxisRange.over([pair.x for pair in pairs]), AxisRange.over([pair.y for pair in pairs])

    def x(share: float) -> float:
        return round(_LEFT + across.at(share, _WIDTH - _LEFT - _RIGHT), 1)

    def y(share: float) -> float:
        return round(_HEIGHT - _BOTTOM - up.at(share, _HEIGHT - _TOP - _BOTTOM), 1)

    points = tuple(
        Point(
            pair.name, f"{pair.name}: {pair.x} and {pair.y}", pair.address, pair.person, x(pair.x.value),
            y(pair.y.value), x(pair.x.low), x(pair.x.high), y(pair.y.low), y(pair.y.high),
        )
        for pair in pairs
    )  # fmt: skip
    begin, end = max(across.low, up.low), min(across.high, up.high)
    return Scatter(
        points,
        _names(points, pairs),
        tuple(Tick(f"{100 * one:g}", x(one)) for one in across.ticks()),
        tuple(Tick(f"{100 * one:g}", y(one)) for one in up.ticks()),
        (x(begin), y(begin), x(end), y(end)) if begin < end else None,
    )


def _names(points: Sequence[Point], pairs: Sequence[PlotValue]) -> tuple[Name, ...]:
    """The names of the best, the worst and the most unusual, and of people, as far as they do not overlap."""
    order = sorted(range(len(points)), key=lambda one: pairs[one].x.value)
    middle = sorted(pair.y.value - pair.x.value for pair in pairs)[len(pairs) // 2] if pairs else 0.0
    unusual = sorted(order, key=lambda one: -abs(pairs[one].y.value - pairs[one].x.value - middle))
    people = [one for one in order if points[one].person]
    wanted = dict.fromkeys([*order[-1:], *order[:1], *people[:3], *unusual[:_NAMED]])
    found: list[Name] = []
    for one in wanted:
        point = points[one]
        text = point.name if len(point.name) <= 28 else f"{point.name[:27]}…"
        end = point.x > (_WIDTH + _LEFT) / 2
        name = Name(text, point.x + (-8 if end else 8), max(point.y - 7, _TOP + 15.0), end)
        if len(found) < _NAMED and not any(_overlap(name, other) for other in found):
            found.append(name)
    return tuple(found)


def _overlap(one: Name, other: Name) -> bool:
    first, second = _reach(one), _reach(other)
    return abs(one.y - other.y) < 16 and first[0] < second[1] and second[0] < first[1]


def _reach(name: Name) -> tuple[float, float]:
    width = _LETTER * len(name.text)
    return (name.x - width, name.x) if name.end else (name.x, name.x + width)
