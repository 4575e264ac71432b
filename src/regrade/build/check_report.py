"""The tables of the checks before a release."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from regrade.build.drawn_accuracy import BinAccuracy, StrategyRow
from regrade.build.readiness import DISCRIMINATOR, Discrimination, Readiness, ReadinessCheck
from regrade.core import Column, InputError, Table, Tabular
from regrade.core.amounts import amount


class CheckPart(Enum):
    """The tables of the checks of a revision."""

    CHECKS = "checks"
    BINS = "bins"
    STRATEGIES = "strategies"
    DISCRIMINATOR = "discriminator"


@dataclass(frozen=True, repr=False)
class BuildCheck(Tabular):
    """The checks of a revision, the accuracies of models on it and on other draws, and whether it can be told apart."""

    build: str
    revision: int
    original: str
    models: tuple[str, ...]
    checks: tuple[ReadinessCheck, ...]
    bins: tuple[BinAccuracy, ...]
    strategies: tuple[StrategyRow, ...]
    discriminators: tuple[Discrimination, ...]
    notes: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Whether no check found an issue."""
        return not any(check.outcome is Readiness.ISSUE for check in self.checks)

    def json_fields(self) -> dict[str, object]:
        """The fields, and whether no check found an issue."""
        return {"sound": self.sound, **super().json_fields()}

    @property
    def parts(self) -> tuple[CheckPart, ...]:
        """The tables that have rows, the main one first."""
        rows = {CheckPart.BINS: self.bins, CheckPart.DISCRIMINATOR: self.discriminators}
        return tuple(part for part in CheckPart if rows.get(part, True))

    def table(self) -> Table:
        """One row per check."""
        return self.part(CheckPart.CHECKS)

    def part(self, part: CheckPart) -> Table:
        """One of the tables."""
        match part:
            case CheckPart.CHECKS:
                return self._checks()
            case CheckPart.BINS:
                return self._bins()
            case CheckPart.STRATEGIES:
                return self._strategies()
            case CheckPart.DISCRIMINATOR:
                return self._discriminator()

    @property
    def _title(self) -> str:
        return f"{self.build}, revision {self.revision}"

    def _checks(self) -> Table:
        columns = (Column("subject", "check"), Column("outcome", "outcome"), Column("detail", "detail"))
        order = list(Readiness)
        ordered = sorted(self.checks, key=lambda check: order.index(check.outcome))
        rows = tuple((check.subject, check.outcome.value, check.detail) for check in ordered)
        issues = sum(check.outcome is Readiness.ISSUE for check in self.checks)
        return Table(f"{self._title}: {amount(issues, 'issue') if issues else 'no issues'}", columns, rows, self.notes)

    def _bins(self) -> Table:
        if not self.bins:
            raise InputError("no model has predictions on the pool: run regrade predict, or regrade import predictions")
        columns = (
            Column("model", "model"),
            Column("bin", "selection frequency"),
            Column("drawn_images", "drawn images"),
            Column("drawn", "accuracy"),
            Column("reference_images", "reference images"),
            Column("reference", "accuracy on references"),
        )
        rows = tuple(
            (
                row.model,
                row.bin,
                row.drawn.n if row.drawn else 0,
                row.drawn,
                row.reference.n if row.reference else 0,
                row.reference,
            )
            for row in self.bins
        )
        note = "the intervals of one model hold simultaneously"
        return Table(f"{self._title}: accuracy by selection frequency, in %", columns, rows, (note,))

    def _strategies(self) -> Table:
        columns = (
            Column("strategy", "set"),
            Column("images", "images"),
            Column("frequency", "mean frequency (%)"),
            Column("accuracy", "mean accuracy (%)"),
            Column("change", f"change from {self.original}"),
            Column("difference", "compared with the revision"),
            Column("problems", "problems"),
        )
        rows = tuple(
            (row.name, row.images, row.frequency, row.accuracy, row.change, row.difference, row.problems)
            for row in self.strategies
        )
        if not self.models:
            notes: tuple[str, ...] = (f"no model has predictions on both the pool and {self.original}", *self.notes)
        else:
            notes = (
                f"accuracy: mean of {amount(len(self.models), 'model')}; changes in points; intervals are over images",
                "images that a draw shares with the revision cancel in the comparison with it",
                *self.notes,
            )
        return Table(f"{self._title} and other strategies", columns, rows, notes)

    def _discriminator(self) -> Table:
        if not self.discriminators:
            raise InputError(next(check.detail for check in self.checks if check.subject == DISCRIMINATOR))
        columns = (
            Column("model", "embeddings of"),
            Column("new_images", "new images"),
            Column("original_images", f"images of {self.original}"),
            Column("auc", "area under the ROC curve", percent=False, digits=3),
        )
        rows = tuple((row.model, row.new_images, row.original_images, row.auc) for row in self.discriminators)
        notes = (
            "0.5: new images cannot be told from original ones; intervals hold simultaneously for all models",
            "both sides have the same share of every class; images of one author are in the same fold",
        )
        return Table(f"{self._title}: new images told from those of {self.original}", columns, rows, notes)
