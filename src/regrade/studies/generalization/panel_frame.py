"""The coordinates of a panel of the generalization figure: accuracies on a scale, as values, pixels and boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from regrade.core import Estimate
from regrade.display.lazy_altair import altair
from regrade.display.style import WIDTH
from regrade.stats import Scale
from regrade.studies.generalization.label_places import Box, LabelPlace, points_box
from regrade.studies.generalization.result import ModelShift, PersonShift, SetShift

Shift = ModelShift | PersonShift
"""What a point shows."""

WIDE, TALL = WIDTH - 70, 400
"""The size of a panel in pixels."""

_TICKS: tuple[Sequence[float], ...] = (
    (1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 98, 99),
    range(5, 100, 5),
    range(2, 100, 2),
    range(1, 100),
    [tenth / 10 for tenth in range(1, 1000)],
)
"""Candidate ticks of a nonlinear axis in percent, from coarse to fine; the first with enough visible ticks is used."""
_FEWEST_TICKS = 4
_DIGITS = 5
_PERCENT = {
    Scale.LINEAR: "format(100 * datum.value, '.0f') + '%'",
    Scale.PROBIT: "format(100 * cumulativeNormal(datum.value), '.3~g') + '%'",
    Scale.LOGIT: "format(100 / (1 + exp(-datum.value)), '.3~g') + '%'",
}


class PanelFrame:
    """The coordinates of a panel: accuracies on the scale, and the visible range."""

    def __init__(self, scale: Scale, rows: Sequence[Shift]) -> None:
        self._scale = scale
        self._ends = {
            "x": self._shown([row.original for row in rows]),
            "y": self._shown([row.new for row in rows], above=0.12),
        }

    def _shown(self, estimates: Sequence[Estimate], *, above: float = 0.05) -> tuple[float, float]:
        """The ends of an axis, with a margin around the intervals, and a margin ``above`` for names."""
        low, high = (self.place(edge) for edge in (min(e.low for e in estimates), max(e.high for e in estimates)))
        span = (high - low) or 1.0
        return low - 0.05 * span, high + above * span

    def place(self, accuracy: float) -> float:
        """An accuracy on the scale; on a nonlinear scale, 0 and 1 are moved slightly inward."""
        edge = 0.0 if self._scale is Scale.LINEAR else 1e-4
        return round(float(self._scale.transform(min(max(accuracy, edge), 1 - edge))), _DIGITS)

    def scale(self, side: str) -> altair.Scale:
        return altair.Scale(domain=list(self._ends[side]), nice=False, zero=False)

    def axis(self, side: str, title: str) -> altair.Axis:
        low, high = self._ends[side]
        if self._scale is Scale.LINEAR:
            return altair.Axis(title=title, labelExpr=_PERCENT[self._scale], tickCount=6)
        ticks = next(
            (inside for ticks in _TICKS if len(inside := self._inside(ticks, low, high)) >= _FEWEST_TICKS),
            self._inside(_TICKS[-1], low, high),
        )
        return altair.Axis(title=title, labelExpr=_PERCENT[self._scale], values=ticks, tickCount=len(ticks))

    def _inside(self, percents: Sequence[float], low: float, high: float) -> list[float]:
        return [tick for tick in (self.place(percent / 100) for percent in percents) if low <= tick <= high]

    def diagonal(self) -> list[dict[str, float]]:
        low = max(ends[0] for ends in self._ends.values())
        high = min(ends[1] for ends in self._ends.values())
        return [{"x": end, "y": end} for end in (low, high)] if low < high else []

    def band(self, shift: SetShift) -> list[dict[str, float]]:
        band = shift.line(self._scale).band
        if band is None:
            return []
        return [
            {"x": self.place(x), "y": self.place(y), "low": self.place(low), "high": self.place(high)}
            for x, y, low, high in zip(band.x, band.line, band.low, band.high, strict=True)
        ]

    def beyond(self, shift: SetShift, people: Sequence[PersonShift]) -> list[dict[str, float]]:
        """The ends of the parts of the line that lead from the models to people with other accuracies, in pairs."""
        band = self.band(shift)
        if not band or not people:
            return []
        places = [self.place(person.original.value) for person in people]
        (first, last), ends = (band[0], band[-1]), (min(places), max(places))
        slope = (last["y"] - first["y"]) / ((last["x"] - first["x"]) or 1.0)
        return [
            {"x": end["x"], "y": end["y"], "to_x": x, "to_y": round(end["y"] + slope * (x - end["x"]), _DIGITS)}
            for end, x, outside in ((first, ends[0], ends[0] < first["x"]), (last, ends[1], ends[1] > last["x"]))
            if outside
        ]

    def point(self, row: Shift) -> dict[str, Any]:
        """A point with both intervals, and the texts to show when it is pointed at; people have no rank."""
        place = {
            "model": row.name,
            "x": self.place(row.original.value),
            "left": self.place(row.original.low),
            "right": self.place(row.original.high),
            "y": self.place(row.new.value),
            "low": self.place(row.new.low),
            "high": self.place(row.new.high),
        }
        texts = {
            "original_text": str(row.original),
            "new_text": str(row.new),
            "gap_text": str(row.gap),
            "robustness_text": str(row.robustness),
        }
        if isinstance(row, PersonShift):
            return {**place, **texts, "rank_text": "–"}
        return {**place, "standard": row.standard, **texts, "rank_text": f"{row.original_rank} → {row.new_rank}"}

    def pixels(self, row: Shift) -> tuple[float, float]:
        """The position of a model's point in pixels from the top left."""
        return self._at(self.place(row.original.value), self.place(row.new.value))

    def line_pixels(self, band: list[dict[str, float]]) -> list[tuple[float, float]]:
        """The positions of the points of the line in pixels."""
        return [self._at(part["x"], part["y"]) for part in band]

    def boxes(self, row: Shift) -> list[Box]:
        """The boxes that a model's point and its intervals occupy."""
        x, y = self.pixels(row)
        left, low = self._at(self.place(row.original.low), self.place(row.new.low))
        right, high = self._at(self.place(row.original.high), self.place(row.new.high))
        return [points_box(x, y), Box(left, y - 1, right, y + 1), Box(x - 1, high, x + 1, low)]

    def label(self, row: Shift, place: LabelPlace) -> dict[str, Any]:
        """A model's point with the position of its name."""
        (left, right), (bottom, top) = self._ends["x"], self._ends["y"]
        return {
            "model": row.name,
            "x": self.place(row.original.value),
            "y": self.place(row.new.value),
            "label_x": round(left + place.x / WIDE * (right - left), _DIGITS),
            "label_y": round(top - place.y / TALL * (top - bottom), _DIGITS),
            "align": place.align,
            "led": place.led,
        }

    def _at(self, x: float, y: float) -> tuple[float, float]:
        (left, right), (bottom, top) = self._ends["x"], self._ends["y"]
        return (x - left) / (right - left) * WIDE, (1 - (y - bottom) / (top - bottom)) * TALL
