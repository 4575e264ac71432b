"""The table of models as a page shows it: filtered, in the order that is asked for, with the counts behind it."""

from __future__ import annotations

from dataclasses import dataclass

from regrade.app.explore.choice import Choice
from regrade.app.explore.drawing import AxisRange
from regrade.app.explore.explorer import Explorer, View
from regrade.app.explore.outcomes import AnswerKind, AnswerOutcome, are
from regrade.core import PERSON_PREFIX, Estimate, UnknownName
from regrade.core.arrays import BoolArray
from regrade.studies import GradeRow

HEADINGS = {
    "top1": "top-1",
    "top5": "top-5",
    "top1_same_images": "top-1, same images",
    "multilabel": "multi-label",
    "reviewed": "multi-label, reviewed",
}
"""The accuracies of the table, as it calls them."""


@dataclass(frozen=True)
class Line:
    """One model or person: its grade, and how many of the images that count it has right, wrong or not judged."""

    grade: GradeRow
    person: bool
    counts: dict[str, int]

    @property
    def name(self) -> str:
        """The name, without what people's begin with."""
        return self.grade.model.removeprefix(PERSON_PREFIX) if self.person else self.grade.model

    def estimate(self, key: str) -> Estimate | None:
        """One of its accuracies."""
        found: Estimate | None = getattr(self.grade, key)
        return found


@dataclass(frozen=True)
class ModelsTable:
    """The lines that are shown, the accuracies that any of them has, and the scale of the one they are sorted by."""

    lines: tuple[Line, ...]
    columns: tuple[str, ...]
    sorted_by: str
    descending: bool
    drawn: str
    scale: AxisRange
    of: int
    notes: tuple[str, ...]

    @property
    def novel(self) -> bool:
        """Whether there is anything that no one has judged."""
        return any(line.counts["novel"] for line in self.lines)


def models_table(explorer: Explorer, view: View, choice: Choice) -> ModelsTable:
    """The table that a choice asks for."""
    found = explorer.grade(view, choice.slice)
    counts = _counts(view, explorer.inside(view, choice.slice))
    lines = [Line(row, row.model.startswith(PERSON_PREFIX), counts[row.model]) for row in found.rows]
    columns = tuple(key for key in HEADINGS if any(line.estimate(key) for line in lines))
    shown = [line for line in lines if named(choice.models, line.grade.model)]
    key, descending = _order(choice.sort, columns)
    if choice.sort:
        shown.sort(key=lambda line: line.grade.model.casefold(), reverse=key == "model" and descending)
    if choice.sort and key != "model":
        shown.sort(key=lambda line: _sort_value(line, key, descending))
    drawn = key if key in columns else (columns[0] if columns else "")
    scale = AxisRange.over([line.estimate(drawn) for line in shown] if drawn else [])
    notes = (*found.notes, *_left_out(view))
    return ModelsTable(tuple(shown), columns, key, descending, drawn, scale, len(lines), notes)


def named(wanted: str, name: str) -> bool:
    """Whether a name holds one of the parts that a text lists, separated by commas; an empty text wants all."""
    parts = [part.strip().casefold() for part in wanted.split(",") if part.strip()]
    return not parts or any(part in name.casefold() for part in parts)


def _order(sort: str, columns: tuple[str, ...]) -> tuple[str, bool]:
    key = sort.removeprefix("-")
    known = ["model", "wrong", "novel", *HEADINGS]
    if key and key not in known:
        raise UnknownName("column", key, known)
    return (key, sort.startswith("-")) if key else (columns[0] if columns else "model", True)


def _sort_value(line: Line, key: str, descending: bool) -> tuple[bool, float]:
    """What lines are sorted by; those without a value come last either way."""
    found = line.estimate(key) if key in HEADINGS else None
    value = float(line.counts[key]) if key in line.counts else found.value if found else None
    return value is None, (-(value or 0.0) if descending else value or 0.0)


def _counts(view: View, inside: BoolArray) -> dict[str, dict[str, int]]:
    kept = view.codes if inside.all() else view.codes[:, inside]
    totals = {kind: are(kind, kept).sum(axis=1) for kind in (AnswerKind.RIGHT, AnswerKind.WRONG, AnswerKind.NOVEL)}
    n = (kept != AnswerOutcome.NOT_COUNTED).sum(axis=1)
    return {
        row.name: {"n": int(n[place]), **{kind.value: int(total[place]) for kind, total in totals.items()}}
        for place, row in enumerate(view.answers.rows)
    }


def _left_out(view: View) -> list[str]:
    return [f"{name} is not shown: {why}" for name, why in view.answers.left_out.items()]
