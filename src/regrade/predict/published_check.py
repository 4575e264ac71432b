"""Compare measured accuracies with published ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from regrade.core import Column, InputError, Table, Tabular
from regrade.models import PublishedAccuracies, published_warning

if TYPE_CHECKING:
    from regrade.studies import Grade


@dataclass(frozen=True, repr=False)
class PublishedCheck(Tabular):
    """The graded models that have a published accuracy, and a warning for each that is far from it."""

    grade: Grade
    published: dict[str, tuple[float, ...]]
    warnings: tuple[str, ...]

    def table(self) -> Table:
        """One row per model."""
        from regrade.studies import EVERYTHING

        columns = tuple(Column(key, heading) for key, heading in _COLUMNS.items())
        rows = tuple(
            (row.model, row.top1, ", ".join(f"{100 * v:.1f}" for v in self.published[row.model]))
            for row in self.grade.rows
            if row.model in self.published and row.slice == EVERYTHING
        )
        return Table(f"{self.grade.test_set}: measured and published, in %", columns, rows, self.warnings)


_COLUMNS = {"model": "model", "top1": "top-1", "published": "published"}


def check_published(grade: Grade, sources: Sequence[PublishedAccuracies]) -> PublishedCheck:
    """Compare a grade with published accuracies on the same test set; raises if no model has one."""
    from regrade.studies import EVERYTHING

    published: dict[str, tuple[float, ...]] = {}
    warnings = []
    for row in grade.rows:
        for source in sources:
            if source.test_set == grade.test_set and row.slice == EVERYTHING and row.top1 and row.model in source.top1:
                published[row.model] = published.get(row.model, ()) + tuple(source.top1[row.model])
                warnings.append(published_warning(row.model, row.top1, source))
    if not published:
        raise InputError(f"no model on {grade.test_set} has a published accuracy: give a file of them with --published")
    return PublishedCheck(grade, published, tuple(filter(None, warnings)))
