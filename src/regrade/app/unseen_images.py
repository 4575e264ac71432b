"""Images that could not be shown, and therefore accept no vote."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from regrade.ledger import Person

_MAX_FAILURES = 10_000  # the newest are remembered


class UnseenImages:
    """The images that could not be shown to a person at their last request, by URL."""

    def __init__(self) -> None:
        self._failed: OrderedDict[tuple[int, str], None] = OrderedDict()
        self._lock = Lock()

    @contextmanager
    def track(self, person: Person, address: str) -> Iterator[None]:
        """Remember whether the image at a URL can be shown to a person."""
        shown = False
        try:
            yield
            shown = True
        finally:
            with self._lock:
                self._failed.pop((person.id, address), None)
                if not shown:
                    self._failed[person.id, address] = None
                    if len(self._failed) > _MAX_FAILURES:
                        self._failed.popitem(last=False)

    def has(self, person: Person, address: str) -> bool:
        """Whether the image at a URL could not be shown to a person."""
        with self._lock:
            return (person.id, address) in self._failed
