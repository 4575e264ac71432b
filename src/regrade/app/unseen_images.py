"""Images that could not be shown: they take no vote."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from regrade.ledger import Person

_KEPT = 10_000  # failures that are remembered, the newest ones


class UnseenImages:
    """The images that could not be shown to someone when they last asked for them, by address."""

    def __init__(self) -> None:
        self._failed: OrderedDict[tuple[int, str], None] = OrderedDict()
        self._lock = Lock()

    @contextmanager
    def noting(self, person: Person, address: str) -> Iterator[None]:
        """Remember whether the image at an address can be shown to someone."""
        shown = False
        try:
            yield
            shown = True
        finally:
            with self._lock:
                self._failed.pop((person.id, address), None)
                if not shown:
                    self._failed[person.id, address] = None
                    if len(self._failed) > _KEPT:
                        self._failed.popitem(last=False)

    def has(self, person: Person, address: str) -> bool:
        """Whether the image at an address could not be shown to someone."""
        with self._lock:
            return (person.id, address) in self._failed
