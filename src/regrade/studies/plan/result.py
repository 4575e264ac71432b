"""Result of planning: images or decisions needed per claim, and what the available images can show."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from regrade.core import Column, Estimate, InputError, Table, Tabular, TooManyImages
from regrade.core.amounts import amount
from regrade.core.record import INLINE, NOT_IN_JSON, json_key
from regrade.stats.power import MAX_IMAGES

Rate = Estimate | float
"""A measured share with its interval, or an assumed one."""


@dataclass(frozen=True)
class PlanOptions:
    """Power of the plan, and confidence of intervals and tests."""

    power: float = 0.8
    confidence: float = 0.95

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 < value < 1:
                raise InputError(f"{name} must lie between 0 and 100 %, got {100 * value:g}")

    @property
    def level(self) -> float:
        """The significance level, 1 - confidence."""
        return 1 - self.confidence


DEFAULTS = PlanOptions()
"""80 % power and 95 % confidence."""


@dataclass(frozen=True)
class PlanRow:
    """Sample size for one claim; undefined values are None.

    ``target`` is the half-width to reach or the difference to detect. ``disagreement`` is the share of images that
    discriminate between two models, ``level`` the corrected significance level. ``needed`` images, images per group or
    decisions have at least ``power``; ``available`` is their current number, of which ``decided`` already have
    decisions. ``smallest`` is the smallest difference detectable with the available ones at the plan's power. If images
    come in clusters, ``design_effect`` is the number of images that are worth an independent one.
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
    design_effect: float | None = field(default=None, metadata=json_key("design_effect", only_if_set=True))


@dataclass(frozen=True, repr=False)
class Plan(Tabular, records="rows"):
    """How many of a ``unit`` (images, images per group, decisions) each claim needs; ``target`` names the goal."""

    title: str
    target: str = field(metadata=NOT_IN_JSON)
    unit: str
    options: PlanOptions = field(metadata=INLINE)
    rows: tuple[PlanRow, ...]
    notes: tuple[str, ...] = ()

    def table(self) -> Table:
        """Return one row per claim, without empty columns."""
        columns = [
            Column("name", "for"),
            Column("accuracy", "accuracy"),
            Column("target", self.target, digits=2),
            Column("disagreement", "disagreement", detail=True),
            Column("design_effect", "design effect", percent=False, digits=2, detail=True),
            Column("available", "at hand", detail=True),
            Column("decided", "decided"),
            Column("needed", f"{self.unit} needed"),
            Column("power", "power", detail=True),
            Column("smallest", "smallest detectable", digits=2),
        ]
        shown = [_with_digits(column, self.rows) for column in columns if _has(self.rows, column.key)]
        rows = tuple(tuple(getattr(row, column.key) for column in shown) for row in self.rows)
        return Table(f"{self.title}, in %", tuple(shown), rows, self.notes)


def value_of(rate: Rate) -> float:
    """Return the measured or assumed value."""
    return rate.value if isinstance(rate, Estimate) else rate


def percent(value: float) -> str:
    """Format a share in percent with three significant digits.

    >>> percent(0.05), percent(0.05 / 2211)
    ('5%', '0.00226%')
    """
    return f"{100 * value:.3g}%"


def needed_or_none(rate: Rate, images: Callable[[], int]) -> int | None:
    """The ``images`` that a claim about a rate needs; more than the limit is None if measured, and raises if assumed.

    A measured rate may be as small as it likes, and must not stop the plan of the others.
    """
    try:
        return images()
    except TooManyImages:
        if not isinstance(rate, Estimate):
            raise
        return None


def limit_notes(rows: Sequence[PlanRow]) -> tuple[str, ...]:
    """A note on rows whose measured difference would need more images than the limit."""
    count = sum(row.needed is None and value_of(row.target) != 0 for row in rows)
    return (
        (f"{amount(count, 'row')} without a number: more than {MAX_IMAGES:,} images would be needed",) if count else ()
    )


def _with_digits(column: Column, rows: Sequence[PlanRow]) -> Column:
    """A column whose smallest value would be printed as 0.00 shows two digits of it."""
    if column.key not in ("target", "smallest"):
        return column
    values = (getattr(row, column.key) for row in rows)
    sizes = [abs(100 * value_of(value)) for value in values if value is not None]
    smallest = min((size for size in sizes if size > 0), default=1.0)
    return column if smallest >= 0.005 else replace(column, digits=1 - math.floor(math.log10(smallest)))


def _has(rows: Sequence[PlanRow], key: str) -> bool:
    """Whether a column is shown: always for name, target and needed, otherwise if any row has a value."""
    return key in ("name", "target", "needed") or any(getattr(row, key) is not None for row in rows)
