"""The figure of a generalization study: accuracy on new test sets versus the original, with the line through models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from regrade.display.figure import Figure
from regrade.display.lazy_altair import altair
from regrade.display.parts import direct_labels, heading, panel_heading
from regrade.display.style import COLORS, GRAY, INK
from regrade.stats import Scale
from regrade.studies.generalization.label_places import Box, line_boxes, place_labels
from regrade.studies.generalization.panel_frame import TALL, WIDE, PanelFrame, Shift
from regrade.studies.generalization.result import Generalization, ModelShift, PersonShift, SetShift
from regrade.studies.generalization.shift_line import NOT_ENOUGH_SPREAD, with_interval

_MOST_LABELS = 9
_BESIDE = {"left": 2, "right": -2}  # pixels from the end of a leader line to the name


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
    first, measure = result.shifts[0], result.measured
    if len(result.shifts) > 1:
        return f"Accuracies of {first.models} models on {len(result.shifts)} new test sets"
    change = first.mean_change
    sets = f"from {measure.images(result.original)} to {measure.images(first.new_set)}"
    if change.low <= 0 <= change.high:
        return f"No change in the mean accuracy of {first.models} models detected {sets}"
    verb = "lose" if change.value < 0 else "gain"
    if not first.change_is_shown(change):
        return f"Too few predictions are judged to tell whether {first.models} models {verb} {sets}"
    return f"{first.models} models {verb} {100 * abs(change.value):.1f} points {sets}"


def _key(result: Generalization) -> tuple[str, ...]:
    """A description of the marks; with one panel, also of its line."""
    percent = f"{100 * result.confidence:g}%"
    drawn = f"Each point is a model with its {percent} intervals. Dashed: no change."
    lined = any(shift.line(result.scale).slope is not None for shift in result.shifts)
    if lined:
        drawn += f" Solid: the line on the {result.scale.value} scale, with its {percent} band over models and images."
    if lined and not all(row.standard for row in result.rows):
        drawn += " The line is fitted through standard models (dots); diamonds are the other models."
    dotted = " Dotted: the line beyond the models." if any(map(result.is_beyond_models, result.people or ())) else ""
    people = (f"Squares are people; the line is fitted through models only.{dotted}",) if result.people else ()
    line = (_line_in_words(result, result.shifts[0]),) if len(result.shifts) == 1 else ()
    return (drawn, *people, *line)


def _change(shift: SetShift) -> str:
    return f"{shift.new_set}: {100 * shift.mean_change.value:+.1f} points"


def _line_in_words(result: Generalization, shift: SetShift) -> str:
    line = shift.line(result.scale)
    if line.slope is None:
        return f"{shift.models} models; no line is drawn: {NOT_ENOUGH_SPREAD} its slope."
    return f"{shift.models} models; slope {with_interval(line.slope, 1, 2)}, R² {line.r_squared:.3f}."


def _panel(result: Generalization, shift: SetShift) -> altair.LayerChart:
    rows, people, measure = result.of(shift.new_set), result.people_of(shift.new_set), result.measured
    frame = PanelFrame(result.scale, (*rows, *people))
    axes = _Axes(
        {"scale": frame.scale("x"), "axis": frame.axis("x", measure.axis(result.original))},
        {"scale": frame.scale("y"), "axis": frame.axis("y", measure.axis(shift.new_set))},
    )
    x, y = axes.across("x"), axes.up("y")
    hover = altair.selection_point(
        name=f"hover_{result.shifts.index(shift)}", on="pointerover", nearest=True, empty=False, fields=["model"]
    )
    band = altair.Chart(_values(frame.band(shift)))
    color = altair.condition(altair.datum.standard, altair.value(COLORS[0]), altair.value(COLORS[1]))
    shape = altair.condition(altair.datum.standard, altair.value("circle"), altair.value("diamond"))
    size = altair.condition(hover, altair.value(110), altair.value(34))
    *intervals, models = _marks(frame, rows, axes, color=color, shape=shape, size=size)
    layers = (
        altair.Chart(_values(frame.diagonal()))
        .mark_line(color=GRAY, strokeDash=[5, 4], strokeWidth=1.2, clip=True)
        .encode(x=x, y=y),
        band.mark_area(color=COLORS[0], opacity=0.2, clip=True).encode(x=x, y=axes.up("low"), y2="high:Q"),
        band.mark_line(color=INK, strokeWidth=1.4, clip=True).encode(x=x, y=y),
        *intervals,
        models.add_params(hover),
        *_people_marks(frame, shift, people, axes),
        *_labels(frame, rows, people, shift),
    )
    return altair.LayerChart(layer=list(layers), width=WIDE, height=TALL)


@dataclass(frozen=True)
class _Axes:
    """The scale and axis of both directions."""

    x: dict[str, Any]
    y: dict[str, Any]

    def across(self, key: str) -> altair.X:
        """A value of the original set."""
        return altair.X(f"{key}:Q", **self.x)

    def up(self, key: str) -> altair.Y:
        """A value of the new set."""
        return altair.Y(f"{key}:Q", **self.y)


def _marks(
    frame: PanelFrame, rows: Sequence[Shift], axes: _Axes, *, color: Any, shape: Any, size: Any
) -> list[altair.Chart]:
    """Both intervals of each model or person, and its point."""
    points, x, y = altair.Chart(_values([frame.point(row) for row in rows])), axes.across("x"), axes.up("y")
    tooltip = [altair.Tooltip(f"{key}:N", title=name) for key, name in _TOOLTIP.items()]
    return [
        points.mark_rule(strokeWidth=1).encode(x=x, y=axes.up("low"), y2="high:Q", color=color),
        points.mark_rule(strokeWidth=1).encode(x=axes.across("left"), x2="right:Q", y=y, color=color),
        points.mark_point(filled=True, stroke="white", strokeWidth=0.6, opacity=1).encode(
            x=x, y=y, color=color, size=size, shape=shape, tooltip=tooltip
        ),
    ]


def _people_marks(
    frame: PanelFrame, shift: SetShift, people: Sequence[PersonShift], axes: _Axes
) -> Iterator[altair.Chart]:
    """People, and the line where it leads from the models to them."""
    if beyond := frame.beyond(shift, people):
        line = altair.Chart(_values(beyond)).mark_rule(color=INK, strokeWidth=1.2, strokeDash=[2, 3], clip=True)
        yield line.encode(x=axes.across("x"), y=axes.up("y"), x2="to_x:Q", y2="to_y:Q")
    if people:
        color, shape, size = (altair.value(value) for value in (COLORS[2], "square", 64))
        yield from _marks(frame, people, axes, color=color, shape=shape, size=size)


_TOOLTIP = {
    "model": "model",
    "original_text": "original, %",
    "new_text": "new, %",
    "gap_text": "gap, points",
    "rank_text": "rank",
    "robustness_text": "effective robustness, points",
}


def _labels(
    frame: PanelFrame, rows: Sequence[ModelShift], people: Sequence[PersonShift], shift: SetShift
) -> list[altair.Chart]:
    """Names of people and of the most informative models where there is room, away from the dashed line.

    That is below and to the right of a point if the new set is harder, else above and to the left.
    """
    chosen: list[Shift] = [*people, *_worth_a_label(rows)[:_MOST_LABELS]]
    shown: list[Shift] = [*rows, *people]
    taken = [box for row in shown for box in frame.boxes(row)]
    line = line_boxes(frame.line_pixels(frame.band(shift)))
    for ends in frame.beyond(shift, people):
        line += line_boxes(frame.line_pixels([ends, {"x": ends["to_x"], "y": ends["to_y"]}]))
    dashed = line_boxes(frame.line_pixels(frame.diagonal()))
    named = [(row.name, *frame.pixels(row)) for row in chosen]
    inside, upward = Box(0, 0, WIDE, TALL), shift.mean_change.value >= 0
    places = place_labels(named, taken, frame=inside, upward=upward, crossable=line, uncrossed=dashed)
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
