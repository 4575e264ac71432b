"""The result of a study of remedies: each remedy minus its baseline, per test set and group."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from regrade.core import Column, Estimate, Table, Tabular
from regrade.core.record import Record


class RemedyMeasure(Enum):
    """What a row compares."""

    ACCURACY = "accuracy"
    GROUP = "accuracy in a group"
    WORST_GROUP = "worst-group accuracy"
    DISPARITY = "disparity"


class RemedyVerdict(Enum):
    """Whether a remedy differs from its baseline, corrected for all rows; less disparity is better."""

    BETTER = "better"
    WORSE = "worse"
    NOT_DETECTED = "no difference detected"


@dataclass(frozen=True)
class RemedyRow(Record):
    """One measure of a remedy and of its baseline on the same images; ``difference`` is remedy minus baseline.

    ``group`` is set for the accuracy in a group; ``images`` are those that the measure is based on. The intervals of
    all differences of a run hold simultaneously; ``baseline`` and ``remedied`` have intervals of their own.
    """

    test_set: str
    remedy: str
    measure: RemedyMeasure
    group: str | None
    images: int
    seeds: int
    baseline: Estimate
    remedied: Estimate
    difference: Estimate

    @property
    def verdict(self) -> RemedyVerdict:
        """The conclusion from the interval of the difference."""
        gain = self.difference
        low, high = (-gain.high, -gain.low) if self.measure is RemedyMeasure.DISPARITY else (gain.low, gain.high)
        if low > 0:
            return RemedyVerdict.BETTER
        return RemedyVerdict.WORSE if high < 0 else RemedyVerdict.NOT_DETECTED

    def json_fields(self) -> dict[str, Any]:
        """The fields, with the verdict."""
        return {**super().json_fields(), "verdict": self.verdict}

    @property
    def label(self) -> str:
        """The measure, or the name of the group."""
        return self.measure.value if self.group is None else self.group


@dataclass(frozen=True, repr=False)
class Remedies(Tabular, records="rows"):
    """Remedies compared with a baseline, on one or more test sets; ``by`` is the column of the groups."""

    baseline: str
    remedies: tuple[str, ...]
    by: str | None
    top: int
    confidence: float
    rows: tuple[RemedyRow, ...]
    notes: tuple[str, ...]

    def table(self) -> Table:
        """One row per remedy, test set and measure."""
        columns = (
            Column("remedy", "remedy"),
            Column("test_set", "test set"),
            Column("measure", "measure"),
            *((Column("group", self.by),) if self.by else ()),
            Column("images", "images"),
            Column("seeds", "seeds"),
            Column("baseline", "baseline"),
            Column("remedied", "with remedy"),
            Column("difference", "difference"),
            Column("verdict", "verdict"),
        )
        rows = tuple(
            (
                row.remedy, row.test_set, row.measure.value, *((row.group,) if self.by else ()), row.images, row.seeds,
                row.baseline, row.remedied, row.difference, row.verdict.value,
            )
            for row in self.rows
        )  # fmt: skip
        title = f"remedies compared with {self.baseline}, top-{self.top} accuracy in %, differences in points"
        return Table(title, columns, rows, (*self._method_notes(), *self.notes))

    def _method_notes(self) -> tuple[str, ...]:
        together = f" simultaneously for all {len(self.rows)} rows (Bonferroni)" if len(self.rows) > 1 else ""
        kinds = sorted({row.difference.method for row in self.rows})
        notes = (
            f"difference: remedy minus baseline on the same images; intervals hold{together}, and verdicts follow from "
            f"them: {'; '.join(kinds)}",
            f"baseline and with remedy: means over seeds, each with its own {100 * self.confidence:g}% interval",
        )
        if not any(row.measure is RemedyMeasure.WORST_GROUP for row in self.rows):
            return notes
        return (
            *notes,
            "worst group: the lowest mean accuracy of each method, whichever group it is; disparity: highest minus "
            "lowest, less is better; both have conservative intervals that account for the selection of the groups",
        )
