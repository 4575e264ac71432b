"""The result of methodology checks: one row per check, those that were found first."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from regrade.core import Column, Table, Tabular
from regrade.core.record import Record


class MethodologyOutcome(Enum):
    """What a check concludes."""

    FOUND = "found"
    PASSED = "passed"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True)
class CheckRow(Record):
    """A check with its outcome: ``detail`` names sets, models and numbers, or says why it does not apply.

    ``section`` is the part of the documentation that explains it.
    """

    code: str
    outcome: MethodologyOutcome
    title: str
    detail: str
    why: str
    advice: str
    section: str

    @property
    def explanation(self) -> str:
        """The detail, and what to do if the check was found."""
        return f"{self.detail}. {self.advice}" if self.outcome is MethodologyOutcome.FOUND else self.detail


@dataclass(frozen=True, repr=False)
class Methodology(Tabular, records="rows"):
    """The outcome of every methodology check, for these test sets."""

    test_sets: tuple[str, ...]
    rows: tuple[CheckRow, ...]

    def count(self, outcome: MethodologyOutcome) -> int:
        """The number of checks with this outcome."""
        return sum(row.outcome is outcome for row in self.rows)

    @property
    def found(self) -> tuple[str, ...]:
        """The codes of the checks that found something."""
        return tuple(row.code for row in self.rows if row.outcome is MethodologyOutcome.FOUND)

    @property
    def summary(self) -> str:
        """How many checks found something, passed, and do not apply."""
        counts = (f"{self.count(outcome)} {outcome.value}" for outcome in MethodologyOutcome)
        return f"{len(self.rows)} checks: {', '.join(counts)}"

    def table(self) -> Table:
        """One row per check; for those that were found, the reason is followed by what to do."""
        columns = (
            Column("code", "check"),
            Column("outcome", "outcome"),
            Column("title", "looks for"),
            Column("detail", "because"),
        )
        rows = tuple((row.code, row.outcome.value, row.title, row.explanation) for row in self.rows)
        note = "passed: the stored data show no sign of it, which does not prove that it is absent"
        return Table(f"methodology, {self.summary}", columns, rows, (note,))
