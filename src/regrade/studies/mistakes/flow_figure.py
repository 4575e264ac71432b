"""The figure of one model's mistakes on their way: first labels, review, and people's categories of what remains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from regrade.core import MistakeCategory, Severity
from regrade.core.amounts import amount
from regrade.display.figure import Figure
from regrade.display.lazy_altair import altair
from regrade.display.parts import halo, heading, inline, layered
from regrade.display.style import COLORS, GRAY, INK, PALE, WIDTH
from regrade.studies.mistakes.flow_paths import FlowPaths, StateAfter, StateBefore
from regrade.studies.mistakes.result import Mistakes

_HELD = COLORS[1]
_STARTS = {StateBefore.NOVEL: COLORS[5], StateBefore.WRONG: _HELD, StateBefore.ACCEPTED: PALE}
_ENDS = {
    StateAfter.CORRECT: COLORS[2],
    StateAfter.UNCLEAR: COLORS[4],
    StateAfter.PROBLEMATIC: COLORS[7],
    StateAfter.NOVEL: COLORS[5],
    StateAfter.MISTAKE: _HELD,
}
_CATEGORIES = dict(zip(MistakeCategory, (COLORS[0], COLORS[3], COLORS[6], COLORS[4]), strict=True))
_NO_CATEGORY = "no category yet"
_STAGES = ("under the first labels", "after the review", "kind, by people")
_NODE, _STEPS, _HEIGHT = 0.035, 12, 380
_GAP = 0.05  # space between nodes, as a share of the tallest stage


@dataclass(frozen=True)
class _Node:
    """A part of a stage: its mistakes, from ``low`` upward in the stack, and what its label adds."""

    stage: int
    key: Any
    name: str
    count: int
    color: str
    low: float
    extra: str = ""

    @property
    def high(self) -> float:
        """The upper edge."""
        return self.low + self.count


def flow_figure(result: Mistakes) -> Figure | None:
    """The flow of the mistakes of the best model with some; None without predictions or mistakes."""
    paths = next((path for path in result.paths if path.counts), None)
    if paths is None:
        return None
    stages = [_stage(0, _starts(paths)), _stage(1, _ends(paths)), _stage(2, _kinds(paths))]
    if all(node.key is None for node in stages[2]):
        stages = stages[:2]
    stages = _centered(stages)
    title = _title(paths)
    labels = result.labels + (f", then {result.relabeled}" if result.relabeled else "")
    chart = layered(_bands(stages, paths), _bars(stages), *_names(stages), _headings(stages)).properties(
        title=heading(title, f"{result.images_title} under {labels}. Heights are numbers of images"),
        width=WIDTH - 60,
        height=_HEIGHT,
    )
    parts = "; ".join(f"{node.name} {node.count:,}" for stage in stages for node in stage)
    return Figure(f"flow of mistakes on {result.test_set}", f"{title}. {parts}.", chart)


def _title(paths: FlowPaths) -> str:
    before = sum(number for (start, _), number in paths.counts.items() if start is not StateBefore.ACCEPTED)
    remaining = paths.into(StateAfter.MISTAKE)
    if before != remaining:
        return f"{paths.model}: {amount(before, 'mistake')} under the first labels, {remaining:,} in the end"
    without = sum(paths.categories.get(None, {}).values()) + paths.unanswered
    return f"{paths.model}: people gave {remaining - without:,} of {amount(remaining, 'mistake')} a category"


def _starts(paths: FlowPaths) -> Iterator[tuple[Any, str, int, str, str]]:
    for state, color in _STARTS.items():
        yield state, state.value, sum(n for (start, _), n in paths.counts.items() if start is state), color, ""


def _ends(paths: FlowPaths) -> Iterator[tuple[Any, str, int, str, str]]:
    for state, color in _ENDS.items():
        yield state, state.value, paths.into(state), color, ""


def _kinds(paths: FlowPaths) -> Iterator[tuple[Any, str, int, str, str]]:
    for category, color in _CATEGORIES.items():
        counts: Mapping[Severity | None, int] = paths.categories.get(category, {})
        yield category, category.value, sum(counts.values()), color, f"{counts.get(Severity.MAJOR, 0):,} major"
    without = sum(paths.categories.get(None, {}).values()) + paths.unanswered
    yield None, _NO_CATEGORY, without, PALE, ""


def _stage(stage: int, parts: Iterator[tuple[Any, str, int, str, str]]) -> list[_Node]:
    """The parts of a stage that have mistakes, stacked from below; the last one is on top."""
    nodes: list[_Node] = []
    for key, name, count, color, extra in parts:
        if count:
            low = nodes[-1].high if nodes else 0
            nodes.append(_Node(stage, key, name, count, color, low, extra))
    return nodes


def _centered(stages: Sequence[list[_Node]]) -> list[list[_Node]]:
    """Add gaps between nodes, and align the tops of all stages, where mistakes remain."""
    tallest = max(stage[-1].high for stage in stages)
    gap = _GAP * tallest
    top = max(stage[-1].high + gap * (len(stage) - 1) for stage in stages)
    moved = []
    for stage in stages:
        shift = top - stage[-1].high - gap * (len(stage) - 1)
        moved.append([_shifted(node, shift + place * gap) for place, node in enumerate(stage)])
    return moved


def _shifted(node: _Node, by: float) -> _Node:
    return _Node(node.stage, node.key, node.name, node.count, node.color, node.low + by, node.extra)


def _links(stages: Sequence[list[_Node]], paths: FlowPaths) -> Iterator[tuple[_Node, _Node, int]]:
    starts, ends = ({node.key: node for node in stage} for stage in stages[:2])
    for start in starts.values():
        for end in ends.values():
            if number := paths.counts.get((start.key, end.key), 0):
                yield start, end, number
    for stage in stages[2:]:
        for node in stage:
            yield ends[StateAfter.MISTAKE], node, node.count


def _bands(stages: Sequence[list[_Node]], paths: FlowPaths) -> altair.Chart:
    """Bands between nodes, as wide as the number of mistakes that take this way."""
    rows: list[dict[str, Any]] = []
    left: dict[tuple[int, str], float] = {}
    right: dict[tuple[int, str], float] = {}
    for place, (start, end, number) in enumerate(_links(stages, paths)):
        first, last = left.get(_id(start), start.low), right.get(_id(end), end.low)
        left[_id(start)], right[_id(end)] = first + number, last + number
        words = f"{start.name}, {end.name}"
        for step in range(_STEPS + 1):
            part = step / _STEPS
            bend = part * part * (3 - 2 * part)
            low = first + (last - first) * bend
            x = start.stage + _NODE + (1 - 2 * _NODE) * part
            rows.append({
                "link": place, "x": round(x, 4), "low": round(low, 2), "high": round(low + number, 2),
                "color": end.color, "way": words, "images": number,
            })  # fmt: skip
    return (
        altair.Chart(inline(rows))
        .mark_area(opacity=0.35, line=False)
        .encode(
            x=_x(stages),
            y=altair.Y("low:Q", axis=None, scale=_y(stages)),
            y2="high:Q",
            detail="link:N",
            color=altair.Color("color:N", scale=None),
            tooltip=[altair.Tooltip("way:N"), altair.Tooltip("images:Q", format=",")],
        )
    )


def _id(node: _Node) -> tuple[int, str]:
    return node.stage, node.name


def _x(stages: Sequence[list[_Node]]) -> altair.X:
    return altair.X("x:Q", axis=None, scale=altair.Scale(domain=[-_NODE, len(stages) - 0.4], nice=False))


def _y(stages: Sequence[list[_Node]]) -> altair.Scale:
    lowest, highest = min(stage[0].low for stage in stages), max(stage[-1].high for stage in stages)
    return altair.Scale(domain=[lowest, highest], nice=False)


def _rows(stages: Sequence[list[_Node]]) -> list[dict[str, Any]]:
    return [
        {"x": node.stage - _NODE, "x2": node.stage + _NODE, "low": node.low, "high": node.high, "color": node.color,
         "middle": (node.low + node.high) / 2, "label": _label(node), "name": node.name, "images": node.count}
        for stage in stages for node in stage
    ]  # fmt: skip


def _label(node: _Node) -> str:
    return f"{node.name}: {node.count:,}" + (f" ({node.extra})" if node.extra else "")


def _bars(stages: Sequence[list[_Node]]) -> altair.Chart:
    nodes = altair.Chart(inline(_rows(stages))).mark_rect()
    return nodes.encode(
        x=_x(stages),
        x2="x2:Q",
        y=altair.Y("low:Q", axis=None, scale=_y(stages)),
        y2="high:Q",
        color=altair.Color("color:N", scale=None),
        tooltip=[altair.Tooltip("name:N"), altair.Tooltip("images:Q", format=",")],
    )


def _names(stages: Sequence[list[_Node]]) -> tuple[altair.Chart, altair.Chart]:
    rows = [{**row, "x": row["x2"]} for row in _rows(stages)]
    y = altair.Y("middle:Q", axis=None, scale=_y(stages))
    base = altair.Chart(inline(rows)).encode(x=_x(stages), y=y, text="label:N")
    mark: dict[str, Any] = {"align": "left", "dx": 4, "fontSize": 11, "baseline": "middle"}
    names = base.mark_text(**mark, color=INK)
    return halo(names), names


def _headings(stages: Sequence[list[_Node]]) -> altair.Chart:
    rows = [{"x": stage - _NODE, "text": _STAGES[stage]} for stage in range(len(stages))]
    mark: dict[str, Any] = {"align": "left", "baseline": "bottom", "y": -6, "color": GRAY}
    return altair.Chart(inline(rows)).mark_text(**mark).encode(x=_x(stages), text="text:N")
