"""The result of a study of remedies: each remedy minus its baseline, per test set and group."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from regrade.core import Column, Estimate, Table
from regrade.core.record import Record, json_key
from regrade.studies.study_result import StudyResult


class RemedyMeasure(Enum):
    """What a row compares."""

    ACCURACY = "accuracy"
    GROUP = "accuracy in a group"
    WORST_GROUP = "worst-group accuracy"
    DISPARITY = "disparity"
    DROP = "drop"
    """The accuracy on the original set minus that on the test set of the row."""

    @property
    def less_is_better(self) -> bool:
        """Whether a smaller value is better."""
        return self in (RemedyMeasure.DISPARITY, RemedyMeasure.DROP)


class RemedyVerdict(Enum):
    """Whether a remedy differs from its baseline, corrected for all rows; less disparity or drop is better."""

    BETTER = "better"
    WORSE = "worse"
    NOT_DETECTED = "no difference detected"


@dataclass(frozen=True)
class EffectivePair(Record):
    """Effective robustness (Taori et al. 2020) of a baseline and of its remedy on a shifted set.

    It is the accuracy there minus the accuracy that the line through ``standard`` models expects from that on the
    original set.
    """

    baseline: Estimate
    remedied: Estimate
    original: str
    standard: int


@dataclass(frozen=True)
class RemedyRow(Record):
    """One measure of a remedy and of its baseline on the same images; ``difference`` is remedy minus baseline.

    ``group`` is set for the accuracy in a group; ``images`` are those that the measure is based on. The intervals of
    all differences of a run hold simultaneously; ``baseline`` and ``remedied`` have intervals of their own.
    ``compared_with`` is the name of the baseline, and ``slice`` the part of the test set, None for all of it.
    ``effective`` is the effective robustness of both, on a shifted set.
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
    compared_with: str
    slice: str | None = None
    effective: EffectivePair | None = field(default=None, metadata=json_key("effective_robustness", only_if_set=True))

    @property
    def verdict(self) -> RemedyVerdict:
        """The conclusion from the interval of the difference."""
        gain = self.difference
        low, high = (-gain.high, -gain.low) if self.measure.less_is_better else (gain.low, gain.high)
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

    @property
    def place(self) -> str:
        """The test set, or the slice of it."""
        return self.test_set if self.slice is None else f"{self.slice} of {self.test_set}"


@dataclass(frozen=True, repr=False)
class Remedies(StudyResult, records="rows"):
    """Remedies compared with a baseline, on one or more test sets; ``by`` is the column of the groups.

    ``baseline`` is None if every remedy is compared with its own base model, which its rows name. ``original`` is the
    test set from which drops are measured.
    """

    baseline: str | None
    remedies: tuple[str, ...]
    by: str | None
    top: int
    confidence: float
    rows: tuple[RemedyRow, ...]
    notes: tuple[str, ...]
    original: str | None = None

    @property
    def reference(self) -> str:
        """What the remedies are compared with."""
        return "their base models" if self.baseline is None else self.baseline

    def table(self) -> Table:
        """One row per remedy, test set, slice and measure."""
        has_slices = any(row.slice for row in self.rows)
        has_effective = any(row.effective for row in self.rows)
        columns = (
            *((Column("compared_with", "base model"),) if self.baseline is None else ()),
            Column("remedy", "remedy"),
            Column("test_set", "test set"),
            *((Column("slice", "slice"),) if has_slices else ()),
            Column("measure", "measure"),
            *((Column("group", self.by),) if self.by else ()),
            Column("images", "images", detail=True),
            Column("seeds", "seeds", detail=True),
            Column("baseline", "baseline", detail=True),
            Column("remedied", "with remedy", detail=True),
            Column("difference", "difference"),
            Column("verdict", "verdict"),
            *(_EFFECTIVE if has_effective else ()),
        )
        rows = tuple(
            (
                *((row.compared_with,) if self.baseline is None else ()), row.remedy, row.test_set,
                *((row.slice,) if has_slices else ()), row.measure.value, *((row.group,) if self.by else ()),
                row.images, row.seeds, row.baseline, row.remedied, row.difference, row.verdict.value,
                *(_effective_cells(row.effective) if has_effective else ()),
            )
            for row in self.rows
        )  # fmt: skip
        title = f"remedies compared with {self.reference}, top-{self.top} accuracy in %, differences in points"
        return Table(title, columns, rows, (*self._method_notes(), *self.notes))

    def _method_notes(self) -> tuple[str, ...]:
        together = f" simultaneously for all {len(self.rows)} rows (Bonferroni)" if len(self.rows) > 1 else ""
        kinds = sorted({row.difference.method for row in self.rows})
        notes: tuple[str, ...] = (
            f"difference: remedy minus baseline on the same images; intervals hold{together}, and verdicts follow from "
            f"them: {'; '.join(kinds)}",
            f"baseline and with remedy: means over seeds, each with its own {100 * self.confidence:g}% interval",
        )
        if any(row.effective for row in self.rows):
            notes = (*notes, self._effective_note())
        if self.original is not None:
            notes += (
                f"drop: accuracy on {self.original} minus accuracy on the test set, less is better; the images of both "
                "sets are independent samples, and seeds are the same on both",
            )
        if not any(row.measure is RemedyMeasure.WORST_GROUP for row in self.rows):
            return notes
        return (
            *notes,
            "worst group: the lowest mean accuracy of each method, whichever group it is; disparity: highest minus "
            "lowest, less is better; both have conservative intervals that account for the selection of the groups",
        )

    def _effective_note(self) -> str:
        first = next(row.effective for row in self.rows if row.effective)
        return (
            f"effective robustness: accuracy minus that expected from {first.original}, by a line on the logit scale "
            f"through {first.standard} standard models, which have no base model; each with its own interval"
        )


_EFFECTIVE = (
    Column("effective_baseline", "effective robustness of base"),
    Column("effective_remedied", "of remedy"),
)


def _effective_cells(pair: EffectivePair | None) -> tuple[Estimate | None, Estimate | None]:
    return (None, None) if pair is None else (pair.baseline, pair.remedied)
