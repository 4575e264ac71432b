"""People's accuracies from their answers alone, by a model of annotators, next to their accuracies by the labels."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from regrade.core import Column, Estimate, Table
from regrade.core.record import INLINE
from regrade.studies.agreement.reviewer_models import ReviewerModels


@dataclass(frozen=True)
class ModeledPeople:
    """People under models of annotators, and ``by_labels`` their accuracies against the labels, on the same answers."""

    models: ReviewerModels = field(metadata=INLINE)
    by_labels: dict[str, Estimate]

    def table(self, title: str) -> Table:
        """One row per person."""
        table = self.models.table(title)
        columns = (*table.columns, Column("by_labels", "by the labels, %"))
        rows = tuple((*row, self.by_labels[str(row[0])]) for row in table.rows)
        return replace(table, columns=columns, rows=rows, notes=(*table.notes, _SHARED_ERRORS))

    def disagreement_table(self, title: str) -> Table:
        """One row per image on which a model contradicts the majority of people."""
        return self.models.disagreement_table(title)


_SHARED_ERRORS = (
    "people who make the same mistakes seem accurate to a model that takes errors as independent: if it is well above "
    "the accuracy by the labels, people share errors, or labels are wrong"
)
