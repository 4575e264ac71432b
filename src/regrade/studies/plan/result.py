"""A plan: how many images or decisions a claim takes, and what the images at hand can show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from regrade.core import Column, Estimate, InputError, Table, Tabular

Rate = Estimate | float
"""A share that was measured, with its interval, or one that is assumed."""


@dataclass(frozen=True)
class PlanOptions:
    """What a plan is made for: the chance to succeed, and the confidence of intervals and tests."""

    power: float = 0.8
    confidence: float = 0.95

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 < value < 1:
                raise InputError(f"{name} must lie between 0 and 100 %, got {100 * value:g}")

    @property
    def level(self) -> float:
        """The level of tests: what the confidence leaves."""
        return 1 - self.confidence


USUAL = PlanOptions()
"""80 % power and 95 % confidence."""


@dataclass(frozen=True)
class PlanRow:
    """What one claim takes; what is undefined is none.

    ``target`` is the half-width to reach or the difference to find. ``disagreement`` is the share of images that can
    decide between two models, ``level`` the level of the test after its correction. ``needed`` images, images per group
    or decisions succeed with at least ``power``; ``available`` are at hand, of which ``decided`` have decisions
    already. ``smallest`` is the smallest difference that what is available would show with the plan's power.
    """

    name: str
    target: Rate
    needed: int | None
    power: float | None
    accuracy: Rate | None = None
    disagreement: float | None = None
    level: float | None = None
    available: int | None = None
    decided: int | None = None
    smallest: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """The row, ready for JSON."""
        return {key: value.as_dict() if isinstance(value, Estimate) else value for key, value in vars(self).items()}


@dataclass(frozen=True, repr=False)
class Plan(Tabular):
    """How many of a ``unit`` (images, images per group, decisions) each claim takes; ``target`` is what to find."""

    title: str
    target: str
    unit: str
    options: PlanOptions
    rows: tuple[PlanRow, ...]
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The plan, ready for JSON."""
        return {
            "title": self.title,
            "unit": self.unit,
            **vars(self.options),
            "rows": [row.as_dict() for row in self.rows],
            "notes": list(self.notes),
        }

    def table(self) -> Table:
        """One line a claim; columns that say nothing are left out."""
        columns = [
            Column("name", "for"),
            Column("accuracy", "accuracy"),
            Column("target", self.target, digits=2),
            Column("disagreement", "disagreement"),
            Column("available", "at hand"),
            Column("decided", "decided"),
            Column("needed", f"{self.unit} needed"),
            Column("power", "power"),
            Column("smallest", "smallest detectable", digits=2),
        ]
        shown = [column for column in columns if _has(self.rows, column.key)]
        rows = tuple(tuple(getattr(row, column.key) for column in shown) for row in self.rows)
        return Table(f"{self.title}, in %", tuple(shown), rows, self.notes)


def value_of(rate: Rate) -> float:
    """The measured or assumed value itself."""
    return rate.value if isinstance(rate, Estimate) else rate


def percent(value: float) -> str:
    """A share in percent with three significant digits.

    >>> percent(0.05), percent(0.05 / 2211)
    ('5%', '0.00226%')
    """
    return f"{100 * value:.3g}%"


def _has(rows: Sequence[PlanRow], key: str) -> bool:
    """Whether a column says anything; the name and what is needed are always shown."""
    return key in ("name", "target", "needed") or any(getattr(row, key) is not None for row in rows)
