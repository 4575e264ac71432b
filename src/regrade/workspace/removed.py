"""Removed records of a workspace, which can be restored until they are purged."""

from __future__ import annotations

from regrade.store import Removal, Store


class Removed:
    """Removed models, test sets and label sets, which can be restored until they are purged."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def list(self) -> tuple[Removal, ...]:
        """What was removed and can be restored, oldest first."""
        return self.store.removals.all()

    def restore(self, number: int | None = None) -> Removal:
        """Put the records of a removal, the last one by default, back to their places.

        Raises if something is stored there now, or if the test set that they belong to is missing or another version.
        """
        return self.store.removals.restore(number)

    def purge(self) -> tuple[Removal, ...]:
        """Delete all removed records for good, and return what was deleted."""
        return self.store.removals.purge()
