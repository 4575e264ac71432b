"""What was put into a queue, as a result to show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from regrade.core import Column, Table, Tabular


@dataclass(frozen=True, repr=False)
class QueueResult(Tabular):
    """So many items were ``added`` to a queue, which now has ``items``, each for ``overlap`` people."""

    queue: str
    question: str
    overlap: int
    added: int
    items: int
    notes: tuple[str, ...] = ()

    def table(self) -> Table:
        """One line, and what else is to be said."""
        keys = ("queue", "question", "added", "items", "overlap")
        columns = tuple(Column(key, "people an item" if key == "overlap" else key) for key in keys)
        return Table("queued", columns, (tuple(getattr(self, key) for key in keys),), self.notes)

    def as_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return {**self.table().records()[0], "notes": list(self.notes)}
