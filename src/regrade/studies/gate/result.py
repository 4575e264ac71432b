"""The result of a gate: a verdict per rule, the gate's own, and flips."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum

from regrade.core import Column, Estimate, Ladder, Table, Tabular
from regrade.core.amounts import amount
from regrade.core.record import NOT_IN_JSON, json_key
from regrade.display.junit import JUnitCase, junit_xml
from regrade.display.text import code_span, escaped_markdown
from regrade.display.wording import share
from regrade.studies.scoring import EVERYTHING


class GateVerdict(StrEnum):
    """The verdict of a rule or of a gate; a command ends with its exit code."""

    PASS = "PASS"
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"

    @property
    def exit_code(self) -> int:
        """The exit code of the command: 0, 1 or 2."""
        return list(GateVerdict).index(self)

    @classmethod
    def of(cls, verdicts: Sequence[GateVerdict]) -> GateVerdict:
        """The verdict of a gate: FAIL if any rule fails, else INCONCLUSIVE if any is, else PASS."""
        return next((verdict for verdict in (cls.FAIL, cls.INCONCLUSIVE) if verdict in verdicts), cls.PASS)


class GateRule(Enum):
    """The kinds of rules."""

    NOT_WORSE = "not worse"
    BETTER = "better"
    ACCURACY = "accuracy"
    NEGATIVE_FLIPS = "negative flips"
    METRIC = "metric"
    COVERAGE = "coverage"
    LADDER = "better than the best so far"


def _same(text: str) -> str:
    return text


@dataclass(frozen=True)
class GateRow:
    """A rule with its verdict: what was measured, and what is required.

    ``measured`` has one-sided bounds; None where it is undefined or, on a ladder, not told. ``threshold`` is a fraction
    for shares and differences, and a p-value on a ladder. ``reason`` says why the verdict is not PASS, and
    ``images_needed`` is the number of images for 80 % power to PASS, if the measured values are true.
    """

    rule: str
    test_set: str
    slice: str
    kind: GateRule
    measured: Estimate | None
    threshold: float
    required: str
    verdict: GateVerdict
    reason: str
    images_needed: int | None
    images: int
    percent: bool = field(default=True, metadata=NOT_IN_JSON)

    def label(self, name: Callable[[str], str] = _same) -> str:
        """The rule in words; ``name`` writes names."""
        words = name(self.rule) if self.kind is GateRule.METRIC else self.kind.value
        return words if self.slice == EVERYTHING else f"{words} on {name(self.slice)}"


@dataclass(frozen=True)
class FlipCount:
    """Flips on a test set: ``negative`` ones are right for the baseline only, ``positive`` for the candidate only.

    They are counted over all pairs of seeds; the shares of the ``images`` are means over seeds.
    """

    test_set: str
    images: int
    negative: int
    positive: int
    negative_share: Estimate
    positive_share: Estimate


@dataclass(frozen=True, repr=False)
class GateResult(Tabular, records="rows"):
    """A gate: its verdict, the rules in their order, and how many predictions changed from the baseline's.

    ``ladder`` are all submissions to a held-back test set, if the gate is one of them.
    """

    verdict: GateVerdict
    candidate: str
    baseline: str | None
    confidence: float
    rows: tuple[GateRow, ...]
    flips: tuple[FlipCount, ...]
    notes: tuple[str, ...]
    ladder: Ladder | None = field(default=None, metadata=json_key("ladder", only_if_set=True))

    @property
    def passed(self) -> bool:
        """Whether the verdict is PASS."""
        return self.verdict is GateVerdict.PASS

    @property
    def test_sets(self) -> tuple[str, ...]:
        """The test sets, in their order."""
        return tuple(dict.fromkeys(row.test_set for row in self.rows))

    def table(self) -> Table:
        """One row per rule."""
        return self._table(_same)

    def _table(self, name: Callable[[str], str]) -> Table:
        raw = any(not row.percent for row in self.rows)
        several = len(self.test_sets) > 1
        columns = (
            Column("verdict", "verdict"),
            Column("rule", "rule"),
            *((Column("test_set", "test set"),) if several else ()),
            Column("measured", "measured", digits=2),
            *((Column("value", "not in %", percent=False, digits=3),) if raw else ()),
            Column("required", "required"),
            Column("images", "images"),
        )
        rows = tuple(
            (
                row.verdict.value,
                row.label(name),
                *((name(row.test_set),) if several else ()),
                row.measured if row.percent else None,
                *((None if row.percent else row.measured,) if raw else ()),
                row.required,
                row.images,
            )
            for row in self.rows
        )
        return Table(f"gate: {self.verdict.value} – {self._subject(name)}, in %", columns, rows, self._notes(name))

    def _subject(self, name: Callable[[str], str]) -> str:
        against = f" against {name(self.baseline)}" if self.baseline else ""
        return f"{name(self.candidate)}{against} on {', '.join(map(name, self.test_sets))}"

    def _notes(self, name: Callable[[str], str]) -> tuple[str, ...]:
        free = _same if name is _same else escaped_markdown
        several = len(self.test_sets) > 1
        reasons = (
            f"{row.label(name)}{f', {name(row.test_set)}' if several else ''}: {free(row.reason)}"
            for row in self.rows
            if row.reason
        )
        flips = (
            f"flips{f' on {name(flip.test_set)}' if several else ''}: {flip.negative:,} negative, "
            f"{free(share(flip.negative_share))}; {flip.positive:,} positive, {free(share(flip.positive_share))}; on "
            f"{amount(flip.images, 'image')}"
            for flip in self.flips
        )
        return (*reasons, *flips, *map(free, self.notes))

    def markdown(self) -> str:
        """The gate as Markdown for a pull request; names of models and slices are code, and cannot format or link."""
        table = self._table(code_span)
        marks = ["---:" if right else "---" for right in table.numeric()]
        lines = [[column.heading for column in table.columns], marks, *_escaped_bars(table.texts())]
        body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        notes = "\n".join(f"- {note}" for note in table.notes)
        return f"## Gate: {self.verdict.value}\n\n{self._subject(code_span)}, in %\n\n{body}\n\n{notes}\n"

    def junit(self) -> str:
        """The gate as JUnit XML: a test case per rule; FAIL and INCONCLUSIVE are failures of these types."""
        cases = [
            JUnitCase(
                f"regrade.gate.{row.test_set}",
                row.label(),
                f"{_measured(row)}, required {row.required}",
                None if row.verdict is GateVerdict.PASS else row.verdict.value,
                row.reason,
            )
            for row in self.rows
        ]
        return junit_xml(f"regrade gate {self.candidate}", cases)


def _escaped_bars(lines: list[list[str]]) -> list[list[str]]:
    """Cells without a bar that would end them."""
    return [[text.replace("|", r"\|") for text in line] for line in lines]


def _measured(row: GateRow) -> str:
    if row.measured is None:
        return "not measured"
    scale, digits = (100, 2) if row.percent else (1, 3)
    value, low, high = (
        f"{scale * part:.{digits}f}" for part in (row.measured.value, row.measured.low, row.measured.high)
    )
    return f"measured {value} [{low}, {high}] on {amount(row.images, 'image')}"
