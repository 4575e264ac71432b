"""The table of models: filtered and sorted, with accuracies, metrics and counts of right, wrong and novel answers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from regrade.app.explore.choice import Choice
from regrade.app.explore.explorer import Explorer, View
from regrade.app.explore.outcomes import AnswerKind, AnswerOutcome, has_kind
from regrade.app.explore.plot import AxisRange
from regrade.core import PERSON_PREFIX, Column, Estimate, UnknownName
from regrade.core.arrays import BoolArray
from regrade.studies import Grade, GradeRow

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
    """The visible rows, the columns of accuracies and metrics that any of them has, and the scale of the drawn one."""

    lines: tuple[TableRow, ...]
    columns: tuple[Column, ...]
    sorted_by: str
    descending: bool
    drawn: Column | None
    scale: AxisRange
    of: int
    notes: tuple[str, ...]

    @property
    def novel(self) -> bool:
        """Whether any answer is novel."""
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
    notes = (*graded.notes, *_left_out(view))
    return ModelsTable(tuple(shown), columns, key, descending, drawn, scale, len(lines), notes)


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
