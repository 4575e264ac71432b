"""The result of adding items to a queue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from regrade.core import Column, Table, Tabular


@dataclass(frozen=True, repr=False)
class QueueResult(Tabular):
    """How many items were ``added`` to a queue, how many ``items`` it has now, and the votes needed per item."""

    queue: str
    question: str
    overlap: int
    added: int
    items: int
    notes: tuple[str, ...] = ()

    def table(self) -> Table:
        """One row, with the notes."""
        keys = ("queue", "question", "added", "items", "overlap")
        columns = tuple(Column(key, "votes per item" if key == "overlap" else key) for key in keys)
        return Table("queued", columns, (tuple(getattr(self, key) for key in keys),), self.notes)

    def as_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return {**self.table().records()[0], "notes": list(self.notes)}
