"""What the automatic triage says of a mistake: a suggestion for those who have said it themselves."""

from __future__ import annotations

from functools import lru_cache

from regrade.core import RegradeError
from regrade.ledger import Item, Queue
from regrade.store import Store
from regrade.store.names import file_name
from regrade.studies.mistakes.triage import Triage
from regrade.workspace.triage import kind_of, triage_under

_READ = ("labels", "reviews", "mistakes")  # the folders that a triage is made from
_Stamp = tuple[tuple[str, int], ...]


class Suggestions:
    """The triage of mistakes of any test set; made anew when its labels or reviews change."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._triage = lru_cache(4)(self._made)

    def of(self, queue: Queue, item: Item) -> str | None:
        """What kind of mistake an item may be, in words; none where nothing is known."""
        try:
            triage = self._triage(queue.test_set, queue.labels, self._stamp(queue.test_set))
        except RegradeError:
            return None
        test_set = triage.ground.test_set
        found = kind_of(triage, test_set.position(item.example), test_set.class_space.index(item.class_id))
        return None if found is None else found.value

    def _made(self, test_set: str, labels: str, stamp: _Stamp) -> Triage:  # noqa: ARG002
        return triage_under(self._store, self._store.test_set(test_set), labels)

    def _stamp(self, test_set: str) -> _Stamp:
        """The files that a triage is made from, and when they were written."""
        folders = [self._store.root / part / file_name(test_set) for part in _READ]
        return tuple(
            (str(path), path.stat().st_mtime_ns) for one in folders for path in sorted(one.rglob("*")) if path.is_file()
        )
