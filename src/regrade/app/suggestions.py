"""Suggestions of the automatic triage for a mistake, shown to people after their own vote."""

from __future__ import annotations

from functools import lru_cache

from regrade.core import RegradeError
from regrade.ledger import Item, Queue
from regrade.store import Store, file_name
from regrade.studies.mistakes.triage import Triage
from regrade.workspace.triage import kind_of, triage_under

_INPUT_FOLDERS = ("labels", "reviews", "mistakes")
_Stamp = tuple[tuple[str, int], ...]


class Suggestions:
    """The triage of mistakes of any test set, cached until its labels or reviews change."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._triage = lru_cache(4)(self._compute)

    def of(self, queue: Queue, item: Item) -> str | None:
        """The suggested kind of mistake of an item, or None without a suggestion."""
        try:
            triage = self._triage(queue.test_set, queue.labels, self._stamp(queue.test_set))
        except RegradeError:
            return None
        test_set = triage.ground.test_set
        kind = kind_of(triage, test_set.position(item.example), test_set.class_space.index(item.class_id))
        return None if kind is None else kind.value

    def _compute(self, test_set: str, labels: str, stamp: _Stamp) -> Triage:  # noqa: ARG002
        return triage_under(self._store, self._store.test_set(test_set), labels)

    def _stamp(self, test_set: str) -> _Stamp:
        """The files that a triage is computed from, with their modification times."""
        folders = [self._store.root / part / file_name(test_set) for part in _INPUT_FOLDERS]
        paths = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
        return tuple((str(path), path.stat().st_mtime_ns) for path in paths)
