"""The models on Explore's first page: a filtered and sorted table, and a plot of two accuracies."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from urllib.parse import quote, unquote

from regrade.app.explore.answers import AnswerKind, AnswerOutcome, has_kind
from regrade.app.explore.explorer import Explorer, View
from regrade.app.explore.selection import Choice
from regrade.core import PERSON_PREFIX, Column, Estimate, InputError, RegradeError, UnknownName
from regrade.core.arrays import BoolArray
from regrade.studies import Grade, GradeRow

KINDS = {"top1": "top-1", "top5": "top-5", "multilabel": "multi-label"}
"""Names of accuracies on pages."""

PAGE_SIZE = 200
"""Models per page of the table."""

_ERROR_KINDS = {"top1": "wrong", "top5": "not-in-five", "multilabel": "missed"}  # images that count as errors
_WIDTH, _HEIGHT = 520, 460
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 14, 14, 56
_LETTER_WIDTH = 7.5
_MAX_NAMES = 5  # models labeled with their names


@dataclass(frozen=True)
class Axis:
    """One accuracy of every model; ``value`` is its form in a URL."""

    kind: str
    test_set: str
    labels: str = ""

    @property
    def value(self) -> str:
        """The axis as a URL value, with escaped names."""
        return ":".join(quote(part, safe="") for part in (self.kind, self.test_set, self.labels))

    @property
    def words(self) -> str:
        """The axis as text."""
        return f"{KINDS[self.kind]} on {self.test_set}" + (f" by {self.labels}" if self.labels else "")

    @classmethod
    def parse(cls, value: str) -> Axis:
        """Parse the URL value of an axis."""
        parts = [unquote(part) for part in value.split(":")]
        if len(parts) != 3 or parts[0] not in KINDS or (parts[0] == "multilabel") != bool(parts[2]):
            raise InputError("unknown axis of the plot: choose it again")
        return cls(*parts)


def available_axes(explorer: Explorer) -> list[Axis]:
    """Every accuracy that models on any test set may have."""
    store, axes = explorer.store, []
    for name in store.test_sets.names():
        if not store.predictions.model_names(name):
            continue
        axes += [Axis("top1", name), Axis("top5", name)]
        axes += [Axis("multilabel", name, labels) for labels in store.labels.names(name)]
    return axes


def chosen_axes(explorer: Explorer, choice: Choice) -> tuple[Axis, Axis]:
    """The requested axes; by default top-1 against the chosen labels, another test set or top-5."""
    x = Axis.parse(choice.x) if choice.x else Axis("top1", choice.set)
    return x, Axis.parse(choice.y) if choice.y else _default_y(explorer, choice)


def _default_y(explorer: Explorer, choice: Choice) -> Axis:
    if choice.labels:
        return Axis("multilabel", choice.set, choice.labels)
    store = explorer.store
    models = set(store.predictions.model_names(choice.set))
    shared = {
        name: len(models & set(store.predictions.model_names(name)))
        for name in store.test_sets.names()
        if name != choice.set
    }
    most = max(shared, key=lambda name: shared[name], default=None)
    return Axis("top1", most) if most is not None and shared[most] > 1 else Axis("top5", choice.set)


def accuracy_plot(
    explorer: Explorer, choice: Choice, x: Axis, y: Axis, *, names: Collection[str] | None, listed: Collection[str]
) -> Scatter | str:
    """The plot of two accuracies of the models that have both, or the reason why there is none.

    Models that are ``listed`` on the page have links and intervals, the others are dots.
    """
    try:
        across, up = (_estimates(explorer, choice, axis) for axis in (x, y))
    except RegradeError as error:
        return str(error)
    both = [name for name in across if name in up and (names is None or name in names)]
    if not both:
        return "no model has both accuracies"
    basis = choice.basis().replace(labels=x.labels)
    to = basis if x.test_set == choice.set else Choice(set=x.test_set, labels=x.labels)
    return scatter(
        [
            PlotValue(
                name,
                across[name],
                up[name],
                to.images(model=name, outcome=_ERROR_KINDS[x.kind]),
                name.startswith(PERSON_PREFIX),
            )
            for name in both
        ],
        listed,
    )


def _estimates(explorer: Explorer, choice: Choice, axis: Axis) -> dict[str, Estimate]:
    """One accuracy of all models; the chosen slice applies to the chosen test set only."""
    slice_name = choice.slice if axis.test_set == choice.set else ""
    view = explorer.view(axis.test_set, explorer.labels_named(axis.test_set, axis.labels))
    rows = explorer.grade(view, slice_name).rows
    values = {row.model: getattr(row, axis.kind) for row in rows}
    return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True)
class AxisRange:
    """The range of an axis of accuracies or of another metric, wide enough for the intervals it shows."""

    low: float
    high: float

    @classmethod
    def over(cls, estimates: Sequence[Estimate | None]) -> AxisRange:
        """The range of all intervals, with a margin that does not cross 0 or 1; 0 to 1 if there are none."""
        defined = [estimate for estimate in estimates if estimate is not None]
        if not defined:
            return cls(0.0, 1.0)
        low, high = min(estimate.low for estimate in defined), max(estimate.high for estimate in defined)
        margin = max(0.03 * (high - low), 0.002)
        return cls(max(min(0.0, low), low - margin), min(max(1.0, high), high + margin))

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
    """A scatter plot of two accuracies per model, ``width`` by ``height``; models without a link are ``dots``, a path.

    ``count`` is the number of models.
    """

    points: tuple[Point, ...]
    dots: str
    count: int
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


def scatter(pairs: Sequence[PlotValue], linked: Collection[str]) -> Scatter:
    """Lay out pairs of accuracies, those of people and of ``linked`` models with both intervals, and label a few."""
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
        tuple(point for point in points if point.person or point.name in linked),
        "".join(f"M{point.x:g} {point.y:g}h0" for point in points if not point.person and point.name not in linked),
        len(points),
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


_GRADED = (
    Column("top1", "top-1"),
    Column("top5", "top-5"),
    Column("top1_same_images", "top-1, same images"),
    Column("multilabel", "multi-label"),
    Column("reviewed", "multi-label, reviewed"),
    Column("calibration_error", "calibration error"),
)
_METRIC_PREFIX = "metric:"  # of the keys of metrics, which may have the name of another column
_COUNTS = ("wrong", "novel")


@dataclass(frozen=True)
class TableRow:
    """One model or person: its grade, and the counts of right, wrong and novel answers on scored images."""

    grade: GradeRow
    person: bool
    counts: dict[str, int]

    @property
    def name(self) -> str:
        """The display name: people without their prefix."""
        return self.grade.model.removeprefix(PERSON_PREFIX) if self.person else self.grade.model

    def estimate(self, key: str) -> Estimate | None:
        """The accuracy or metric in a column, or None if it is undefined."""
        if key.startswith(_METRIC_PREFIX):
            return self.grade.values.get(key.removeprefix(_METRIC_PREFIX))
        accuracy: Estimate | None = getattr(self.grade, key)
        return accuracy


@dataclass(frozen=True)
class ModelsTable:
    """The rows that match, the columns of accuracies and metrics that any of them has, and the scale of the drawn one.

    Those of one page are ``listed``, by its ``number`` from 1.
    """

    lines: tuple[TableRow, ...]
    columns: tuple[Column, ...]
    sorted_by: str
    descending: bool
    drawn: Column | None
    scale: AxisRange
    of: int
    notes: tuple[str, ...]
    number: int = 1

    @property
    def pages(self) -> int:
        """The number of pages."""
        return max(math.ceil(len(self.lines) / PAGE_SIZE), 1)

    @property
    def begin(self) -> int:
        """The position of the first row of the page."""
        return (self.number - 1) * PAGE_SIZE

    @cached_property
    def listed(self) -> tuple[TableRow, ...]:
        """The rows of the page."""
        return self.lines[self.begin : self.begin + PAGE_SIZE]

    @cached_property
    def novel(self) -> bool:
        """Whether any answer is novel; every row of the page asks for it."""
        return any(line.counts["novel"] for line in self.lines)


def models_table(explorer: Explorer, view: View, choice: Choice) -> ModelsTable:
    """Build the table for a choice."""
    graded = explorer.grade(view, choice.slice)
    counts = _counts(view, explorer.inside(view, choice.slice))
    lines = [TableRow(row, row.model.startswith(PERSON_PREFIX), counts[row.model]) for row in graded.rows]
    offered = _columns(graded)
    columns = tuple(column for column in offered if any(line.estimate(column.key) for line in lines))
    shown = [line for line in lines if matches_filter(choice.models, line.grade.model)]
    key, descending = _order(choice.sort, offered, columns)
    if choice.sort:
        shown.sort(key=lambda line: line.grade.model.casefold(), reverse=key == "model" and descending)
    if choice.sort and key != "model":
        shown.sort(key=lambda line: _sort_value(line, key, descending))
    drawn = next((column for column in columns if column.key == key), next(iter(columns), None))
    scale = AxisRange.over([line.estimate(drawn.key) for line in shown] if drawn else [])
    notes = (*graded.notes, *view.answers.coverage_notes, *_left_out(view))
    table = ModelsTable(tuple(shown), columns, key, descending, drawn, scale, len(lines), notes)
    return replace(table, number=min(choice.page, table.pages))


def matches_filter(text: str, name: str) -> bool:
    """Whether a name contains any of the comma-separated parts of a filter; an empty filter matches all."""
    parts = [part.strip().casefold() for part in text.split(",") if part.strip()]
    return not parts or any(part in name.casefold() for part in parts)


def _columns(graded: Grade) -> tuple[Column, ...]:
    metrics = (replace(metric.column, key=f"{_METRIC_PREFIX}{metric.name}") for metric in graded.metrics)
    return (*_GRADED, *metrics)


def _order(sort: str, offered: tuple[Column, ...], columns: tuple[Column, ...]) -> tuple[str, bool]:
    key = sort.removeprefix("-")
    sortable = ["model", *_COUNTS, *(column.key for column in offered)]
    if key and key not in sortable:
        raise UnknownName("column", key, sortable)
    return (key, sort.startswith("-")) if key else (columns[0].key if columns else "model", True)


def _sort_value(line: TableRow, key: str, descending: bool) -> tuple[bool, float]:
    """The sort key of a row; rows without a value come last in both directions."""
    estimate = None if key in _COUNTS else line.estimate(key)
    value = float(line.counts[key]) if key in _COUNTS else estimate.value if estimate else None
    return value is None, (-(value or 0.0) if descending else value or 0.0)


def _counts(view: View, inside: BoolArray) -> dict[str, dict[str, int]]:
    kept = view.codes if inside.all() else view.codes[:, inside]
    totals = {kind: has_kind(kind, kept).sum(axis=1) for kind in (AnswerKind.RIGHT, AnswerKind.WRONG, AnswerKind.NOVEL)}
    n = (kept != AnswerOutcome.NOT_COUNTED).sum(axis=1)
    return {
        row.name: {"n": int(n[place]), **{kind.value: int(total[place]) for kind, total in totals.items()}}
        for place, row in enumerate(view.answers.rows)
    }


def _left_out(view: View) -> list[str]:
    return [f"{name} is not shown: {why}" for name, why in view.answers.left_out.items()]
