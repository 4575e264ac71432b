"""The geometry of interval bars and scatter plots, which templates render as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from regrade.core import Estimate

_WIDTH, _HEIGHT = 520, 460
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 14, 14, 56
_LETTER_WIDTH = 7.5
_MAX_NAMES = 5  # models labeled with their names


@dataclass(frozen=True)
class AxisRange:
    """The range of an axis of accuracies, wide enough for the intervals it shows."""

    low: float
    high: float

    @classmethod
    def over(cls, estimates: Sequence[Estimate | None]) -> AxisRange:
        """The range of all intervals; 0 to 1 if there are none."""
        defined = [estimate for estimate in estimates if estimate is not None]
        if not defined:
            return cls(0.0, 1.0)
        low, high = min(estimate.low for estimate in defined), max(estimate.high for estimate in defined)
        margin = max(0.03 * (high - low), 0.002)
        return cls(max(0.0, low - margin), min(1.0, high + margin))

    def at(self, share: float, size: float = 100.0) -> float:
        """The position of a value on a line of length ``size``."""
        return round(size * (share - self.low) / ((self.high - self.low) or 1.0), 2)

    def ticks(self, most: int = 6) -> list[float]:
        """Round values within the range."""
        for step in (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5):
            if (self.high - self.low) / step <= most:
                break
        first = math.ceil(self.low / step - 1e-9)
        return [round(number * step, 4) for number in range(first, math.floor(self.high / step + 1e-9) + 1)]


@dataclass(frozen=True)
class Point:
    """One model in a plot: the coordinates of its point and intervals, and the URL it links to."""

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
    """The label of a point; ``end`` means that the text ends at ``x``."""

    text: str
    x: float
    y: float
    end: bool


@dataclass(frozen=True)
class Tick:
    """A tick of an axis."""

    text: str
    place: float


@dataclass(frozen=True)
class Scatter:
    """A scatter plot of two accuracies per model, ``width`` by ``height``."""

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
    """One model's two accuracies."""

    name: str
    x: Estimate
    y: Estimate
    address: str
    person: bool


def scatter(pairs: Sequence[PlotValue]) -> Scatter:
    """Lay out pairs of accuracies with both intervals, and label a few of them."""
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
        tuple(Tick(f"{100 * value:g}", x(value)) for value in across.ticks()),
        tuple(Tick(f"{100 * value:g}", y(value)) for value in up.ticks()),
        (x(begin), y(begin), x(end), y(end)) if begin < end else None,
    )


def _names(points: Sequence[Point], pairs: Sequence[PlotValue]) -> tuple[Name, ...]:
    """Labels of the best, the worst and the most unusual models, and of people, without overlaps."""
    order = sorted(range(len(points)), key=lambda index: pairs[index].x.value)
    middle = sorted(pair.y.value - pair.x.value for pair in pairs)[len(pairs) // 2] if pairs else 0.0
    unusual = sorted(order, key=lambda index: -abs(pairs[index].y.value - pairs[index].x.value - middle))
    people = [index for index in order if points[index].person]
    candidates = dict.fromkeys([*order[-1:], *order[:1], *people[:3], *unusual[:_MAX_NAMES]])
    placed: list[Name] = []
    for index in candidates:
        point = points[index]
        text = point.name if len(point.name) <= 28 else f"{point.name[:27]}…"
        end = point.x > (_WIDTH + _LEFT) / 2
        name = Name(text, point.x + (-8 if end else 8), max(point.y - 7, _TOP + 15.0), end)
        if len(placed) < _MAX_NAMES and not any(_overlap(name, earlier) for earlier in placed):
            placed.append(name)
    return tuple(placed)


def _overlap(first: Name, second: Name) -> bool:
    (first_left, first_right), (second_left, second_right) = _extent(first), _extent(second)
    return abs(first.y - second.y) < 16 and first_left < second_right and second_left < first_right


def _extent(name: Name) -> tuple[float, float]:
    width = _LETTER_WIDTH * len(name.text)
    return (name.x - width, name.x) if name.end else (name.x, name.x + width)
