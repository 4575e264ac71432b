"""Does a model do here what its authors say it does? Measured accuracies beside published ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from regrade.core import Column, InputError, Table, Tabular
from regrade.models import PublishedAccuracies, far_from_published

if TYPE_CHECKING:
    from regrade.studies import Grade


@dataclass(frozen=True, repr=False)
class PublishedCheck(Tabular):
    """The graded models that have a published figure, and a line of warning for each that is far from it."""

    grade: Grade
    published: dict[str, tuple[float, ...]]
    warnings: tuple[str, ...]

    def table(self) -> Table:
        """One line a model."""
        from regrade.studies import EVERYTHING

        columns = tuple(Column(key, heading) for key, heading in _COLUMNS.items())
        rows = tuple(
            (row.model, row.top1, ", ".join(f"{100 * v:.1f}" for v in self.published[row.model]))
            for row in self.grade.rows
            if row.model in self.published and row.slice == EVERYTHING
        )
        return Table(f"{self.grade.test_set}: measured and published, in %", columns, rows, self.warnings)


_COLUMNS = {"model": "model", "top1": "top-1", "published": "published"}


def check_published(grade: Grade, figures: Sequence[PublishedAccuracies]) -> PublishedCheck:
    """Hold a grade against published figures of the same test set; none that fits raises."""
    from regrade.studies import EVERYTHING  # with scipy, which a process that prepares images does not need

    published: dict[str, tuple[float, ...]] = {}
    warnings = []
    for row in grade.rows:
        for known in figures:
            if known.test_set == grade.test_set and row.slice == EVERYTHING and row.top1 and row.model in known.top1:
                published[row.model] = published.get(row.model, ()) + tuple(known.top1[row.model])
                warnings.append(far_from_published(row.model, row.top1, known))
    if not published:
        raise InputError(f"no model on {grade.test_set} has a published figure: give a file of them with --published")
    return PublishedCheck(grade, published, tuple(filter(None, warnings)))
