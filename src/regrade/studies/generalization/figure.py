"""The figure of a generalization study: accuracy on new test sets versus the original, with the line through models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from regrade.core import Estimate
from regrade.display.figure import Figure
from regrade.display.lazy_altair import altair
from regrade.display.parts import direct_labels, heading, panel_heading
from regrade.display.style import COLORS, GRAY, INK, WIDTH
from regrade.stats import Scale
from regrade.studies.generalization.label_places import Box, LabelPlace, line_boxes, place_labels, points_box
from regrade.studies.generalization.result import Generalization, ModelShift, SetShift
from regrade.studies.generalization.shift_line import NOT_ENOUGH_SPREAD, with_interval

_WIDE, _HEIGHT = WIDTH - 70, 400
_MOST_LABELS = 9
_BESIDE = {"left": 2, "right": -2}  # pixels from the end of a leader line to the name
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


def generalization_figure(result: Generalization) -> Figure:
    """One panel per new test set, stacked: points with both intervals, y = x, and the line with its band."""
    panels = [_panel(result, shift) for shift in result.shifts]
    title = heading(_finding(result), *_key(result))
    if len(panels) == 1:
        return Figure("generalization", _alt(result), panels[0].properties(title=title))
    chart = altair.vconcat(
        *(
            panel.properties(title=panel_heading(_change(shift), _line_in_words(result, shift)))
            for panel, shift in zip(panels, result.shifts, strict=True)
        ),
        spacing=32,
    )
    return Figure("generalization", _alt(result), chart.properties(title=title))


def _finding(result: Generalization) -> str:
    first = result.shifts[0]
    if len(result.shifts) > 1:
        return f"Accuracies of {first.models} models on {len(result.shifts)} new test sets"
    change = first.mean_change
    if change.low <= 0 <= change.high:
        sets = f"from {result.original} to {first.new_set}"
        return f"No change in the mean accuracy of {first.models} models detected {sets}"
    verb = "lose" if change.value < 0 else "gain"
    return (
        f"{first.models} models {verb} {100 * abs(change.value):.1f} points from {result.original} to {first.new_set}"
    )


def _key(result: Generalization) -> tuple[str, ...]:
    """A description of the marks; with one panel, also of its line."""
    percent = f"{100 * result.confidence:g}%"
    drawn = f"Each point is a model with its {percent} intervals. Dashed: no change."
    lined = any(shift.line(result.scale).slope is not None for shift in result.shifts)
    if lined:
        drawn += f" Solid: the line on the {result.scale.value} scale, with its {percent} band over models and images."
    if lined and not all(row.standard for row in result.rows):
        drawn += " The line is fitted through standard models (dots); diamonds are the other models."
    return (drawn, _line_in_words(result, result.shifts[0])) if len(result.shifts) == 1 else (drawn,)


def _change(shift: SetShift) -> str:
    return f"{shift.new_set}: {100 * shift.mean_change.value:+.1f} points"


def _line_in_words(result: Generalization, shift: SetShift) -> str:
    line = shift.line(result.scale)
    if line.slope is None:
        return f"{shift.models} models; no line is drawn: {NOT_ENOUGH_SPREAD} its slope."
    return f"{shift.models} models; slope {with_interval(line.slope, 1, 2)}, R² {line.r_squared:.3f}."


def _panel(result: Generalization, shift: SetShift) -> altair.LayerChart:
    rows = result.of(shift.new_set)
    frame = _Frame(result.scale, rows)
    across: dict[str, Any] = {"scale": frame.scale("x"), "axis": frame.axis("x", f"{result.original}, top-1 in %")}
    up: dict[str, Any] = {"scale": frame.scale("y"), "axis": frame.axis("y", f"{shift.new_set}, top-1 in %")}
    x, left = altair.X("x:Q", **across), altair.X("left:Q", **across)
    y, low = altair.Y("y:Q", **up), altair.Y("low:Q", **up)
    hover = altair.selection_point(
        name=f"hover_{result.shifts.index(shift)}", on="pointerover", nearest=True, empty=False, fields=["model"]
    )
    band, points = (altair.Chart(_values(rows)) for rows in (frame.band(shift), [frame.point(row) for row in rows]))
    color = altair.condition(altair.datum.standard, altair.value(COLORS[0]), altair.value(COLORS[1]))
    layers = (
        altair.Chart(_values(frame.diagonal()))
        .mark_line(color=GRAY, strokeDash=[5, 4], strokeWidth=1.2, clip=True)
        .encode(x=x, y=y),
        band.mark_area(color=COLORS[0], opacity=0.2, clip=True).encode(x=x, y=low, y2="high:Q"),
        band.mark_line(color=INK, strokeWidth=1.4, clip=True).encode(x=x, y=y),
        points.mark_rule(strokeWidth=1.2, opacity=0.7).encode(x=x, y=low, y2="high:Q", color=color),
        points.mark_rule(strokeWidth=1.2, opacity=0.7).encode(x=left, x2="right:Q", y=y, color=color),
        points.mark_point(filled=True, stroke="white", strokeWidth=0.6, opacity=1)
        .encode(
            x=x,
            y=y,
            color=color,
            size=altair.condition(hover, altair.value(110), altair.value(34)),
            shape=altair.condition(altair.datum.standard, altair.value("circle"), altair.value("diamond")),
            tooltip=[altair.Tooltip(f"{key}:N", title=name) for key, name in _TOOLTIP.items()],
        )
        .add_params(hover),
        *_labels(frame, rows, frame.band(shift), harder=shift.mean_change.value < 0),
    )
    return altair.LayerChart(layer=list(layers), width=_WIDE, height=_HEIGHT)


_TOOLTIP = {
    "model": "model",
    "original_text": "original, %",
    "new_text": "new, %",
    "gap_text": "gap, points",
    "rank_text": "rank",
    "robustness_text": "effective robustness, points",
}


class _Frame:
    """The coordinates of a panel: accuracies on the scale, and the visible range."""

    def __init__(self, scale: Scale, rows: Sequence[ModelShift]) -> None:
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

    def point(self, row: ModelShift) -> dict[str, Any]:
        return {
            "model": row.model,
            "x": self.place(row.original.value),
            "left": self.place(row.original.low),
            "right": self.place(row.original.high),
            "y": self.place(row.new.value),
            "low": self.place(row.new.low),
            "high": self.place(row.new.high),
            "standard": row.standard,
            "original_text": str(row.original),
            "new_text": str(row.new),
            "gap_text": str(row.gap),
            "rank_text": f"{row.original_rank} → {row.new_rank}",
            "robustness_text": str(row.robustness),
        }

    def pixels(self, row: ModelShift) -> tuple[float, float]:
        """The position of a model's point in pixels from the top left."""
        return self._at(self.place(row.original.value), self.place(row.new.value))

    def line_pixels(self, band: list[dict[str, float]]) -> list[tuple[float, float]]:
        """The positions of the points of the line in pixels."""
        return [self._at(part["x"], part["y"]) for part in band]

    def boxes(self, row: ModelShift) -> list[Box]:
        """The boxes that a model's point and its intervals occupy."""
        x, y = self.pixels(row)
        left, low = self._at(self.place(row.original.low), self.place(row.new.low))
        right, high = self._at(self.place(row.original.high), self.place(row.new.high))
        return [points_box(x, y), Box(left, y - 1, right, y + 1), Box(x - 1, high, x + 1, low)]

    def label(self, row: ModelShift, place: LabelPlace) -> dict[str, Any]:
        """A model's point with the position of its name."""
        (left, right), (bottom, top) = self._ends["x"], self._ends["y"]
        return {
            "model": row.model,
            "x": self.place(row.original.value),
            "y": self.place(row.new.value),
            "label_x": round(left + place.x / _WIDE * (right - left), _DIGITS),
            "label_y": round(top - place.y / _HEIGHT * (top - bottom), _DIGITS),
            "align": place.align,
            "led": place.led,
        }

    def _at(self, x: float, y: float) -> tuple[float, float]:
        (left, right), (bottom, top) = self._ends["x"], self._ends["y"]
        return (x - left) / (right - left) * _WIDE, (1 - (y - bottom) / (top - bottom)) * _HEIGHT


def _labels(
    frame: _Frame, rows: Sequence[ModelShift], band: list[dict[str, float]], *, harder: bool
) -> list[altair.Chart]:
    """Names of the most informative models where there is room, preferably on the side away from the dashed line.

    That is below and to the right of a point if the new set is ``harder``, else above and to the left.
    """
    chosen = _worth_a_label(rows)[:_MOST_LABELS]
    taken = [box for row in rows for box in frame.boxes(row)]
    line = line_boxes(frame.line_pixels(band))
    dashed = line_boxes(frame.line_pixels(frame.diagonal()))
    named = [(row.model, *frame.pixels(row)) for row in chosen]
    inside = Box(0, 0, _WIDE, _HEIGHT)
    places = place_labels(named, taken, frame=inside, upward=not harder, crossable=line, uncrossed=dashed)
    labels = [frame.label(row, place) for row, place in zip(chosen, places, strict=True) if place]
    aligned = {align: [label for label in labels if label["align"] == align] for align in ("left", "right", "center")}
    led = [label for label in labels if label["led"]]
    leaders = altair.Chart(_values(led)).mark_rule(color=GRAY, strokeWidth=0.8, clip=True)
    return [
        *([leaders.encode(x="x:Q", y="y:Q", x2="label_x:Q", y2="label_y:Q")] if led else []),
        *(
            direct_labels(group, x="label_x", y="label_y", align=align, dx=_BESIDE.get(align, 0))
            for align, group in aligned.items()
            if group
        ),
    ]


def _worth_a_label(rows: Sequence[ModelShift]) -> list[ModelShift]:
    """The best and the worst on either set, models far from the line, and some in between, most informative first.

    Models that the line was not fitted through come early.
    """
    by_original = sorted(rows, key=lambda row: -row.original.value)
    by_new = sorted(rows, key=lambda row: -row.new.value)
    off = sorted(rows, key=lambda row: -abs(row.robustness.value))
    between = [by_original[len(rows) * part // 8] for part in (4, 6, 7)]
    not_standard = [row for row in off if not row.standard][:3]
    chosen = [by_original[0], by_original[-1], *not_standard, *off[:3], by_new[0], by_new[-1], *between]
    return list(dict.fromkeys(chosen))


def _values(rows: list[dict[str, Any]]) -> altair.Data:
    return altair.Data(values=rows)  # type: ignore[no-untyped-call]


def _slope_in_words(shift: SetShift, scale: Scale) -> str:
    slope = shift.line(scale).slope
    return "" if slope is None else f", slope {slope.value:.2f} on the {scale.value} scale"


def _alt(result: Generalization) -> str:
    changes = "; ".join(
        f"{shift.new_set}: {shift.models} models, mean change {100 * shift.mean_change.value:+.1f} points"
        f"{_slope_in_words(shift, result.scale)}"
        for shift in result.shifts
    )
    return f"Accuracy of models on new test sets versus {result.original}. {changes}."
