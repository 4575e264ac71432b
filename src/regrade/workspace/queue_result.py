"""The results of adding items to a queue, and of publishing it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from regrade.core import Column, Table, Tabular
from regrade.core.amounts import amount
from regrade.core.record import Record

if TYPE_CHECKING:
    from regrade.ledger import QueueProgress


@dataclass(frozen=True, repr=False)
class QueueResult(Tabular):
    """How many items were ``added`` to a queue, how many ``items`` it has now, and the votes needed per item.

    ``reused`` pairs were decided in other queues and need no item; None if there are none.
    """

    queue: str
    question: str
    overlap: int
    added: int
    items: int
    notes: tuple[str, ...] = ()
    reused: int | None = None

    def json_fields(self) -> dict[str, Any]:
        """The cells of the table, with the notes."""
        return {**self.table().records()[0], "notes": self.notes}

    def table(self) -> Table:
        """One row, with the notes."""
        keys = ("queue", "question", "added", *(() if self.reused is None else ("reused",)), "items", "overlap")
        columns = tuple(Column(key, "votes per item" if key == "overlap" else key) for key in keys)
        return Table("queued", columns, (tuple(getattr(self, key) for key in keys),), self.notes)


@dataclass(frozen=True)
class PublishResult(Record):
    """Where a queue was published to, what changed there, and the state of its items.

    ``changes`` counts the changes by description and is empty if there are none. ``written`` is False for a dry run
    and if nothing changed. ``of`` counts the items of the queue by state.
    """

    queue: str
    target: str
    changes: Mapping[str, int]
    written: bool
    of: Mapping[str, int]
    notes: tuple[str, ...] = ()

    def in_words(self) -> str:
        """The result in one line."""
        changes = ", ".join(f"{number:,} {what}" for what, number in self.changes.items())
        items, *parts = self.of.items()
        progress = ", ".join(f"{number:,} {what}" for what, number in parts)
        outcome = f"{self.target}: {changes}" if changes else f"nothing new for {self.target}"
        return "; ".join([f"{outcome} (of {amount(items[1], 'item')}: {progress})", *self.notes])

    def undecided_in_words(self) -> str:
        """A note on items that are not published because they are not decided yet; empty if there are none."""
        items = next(iter(self.of.values()))
        open_items = items - self.of.get("decided", self.of.get("with every answer", items))
        if not open_items:
            return ""
        return f"undecided and not published: {amount(open_items, 'item')} of {items:,}; they can be published later"


def items_by_state(progress: QueueProgress) -> dict[str, int]:
    """The items of a queue by state, for queues that a panel decides."""
    return {
        "items": progress.items,
        "decided": progress.decided,
        "to discuss": progress.disputed,
        "not answered": progress.items - progress.decided - progress.disputed,
    }
