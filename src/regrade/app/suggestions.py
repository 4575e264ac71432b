"""Suggestions of the automatic triage for a mistake, shown to people after their own vote."""

from __future__ import annotations

from regrade.app.cache import RecentCache, triage_stamp
from regrade.core import RegradeError
from regrade.ledger import Item, Queue
from regrade.store import Store
from regrade.studies.mistakes.triage import Triage
from regrade.workspace.triage import kind_of, triage_under


class Suggestions:
    """The triage of mistakes of any test set, cached until its labels or reviews change."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._triage: RecentCache[Triage] = RecentCache(4)

    def of(self, queue: Queue, item: Item) -> str | None:
        """The suggested kind of mistake of an item, or None without a suggestion."""
        try:
            triage = self._triage_of(queue)
        except RegradeError:
            return None
        test_set = triage.ground.test_set
        kind = kind_of(triage, test_set.position(item.example), test_set.class_space.index(item.class_id))
        return None if kind is None else kind.value

    def _triage_of(self, queue: Queue) -> Triage:
        name, labels = queue.test_set, queue.labels
        return self._triage.get(
            (name, labels),
            lambda: triage_under(self._store, self._store.test_set(name), labels),
            stamp=triage_stamp(self._store, name),
        )
