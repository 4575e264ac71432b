"""A log that stays readable in trouble: the first event of a kind at once, then one line a minute with their number."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Lock, Timer

from regrade.core.amounts import amount

_LOG = logging.getLogger("regrade.app")
_EVERY = 60.0  # seconds


def _start_timer(seconds: float, action: Callable[[], None]) -> None:
    timer = Timer(seconds, action)
    timer.daemon = True  # a number that is not logged yet must not hold up the exit
    timer.start()


class ErrorLog:
    """Counts events by what they are; ``later`` calls something after so many seconds, for tests that set the time."""

    def __init__(self, later: Callable[[float, Callable[[], None]], None] = _start_timer) -> None:
        self._later = later
        self._counts: dict[str, int] = {}
        self._lock = Lock()

    def note(self, event: str, detail: str, *, error: BaseException | None = None) -> None:
        """Log the first of an event, with the traceback of ``error`` if there is one; count those that follow."""
        with self._lock:
            repeated = event in self._counts
            self._counts[event] = self._counts[event] + 1 if repeated else 0
        if not repeated:
            _LOG.error("%s: %s", event, detail, exc_info=error)
            self._later(_EVERY, lambda: self._summarize(event))

    def _summarize(self, event: str) -> None:
        """Log how many there were in the last minute; after a minute without any the next one is the first again."""
        with self._lock:
            count = self._counts[event]
            if count == 0:
                del self._counts[event]
                return
            self._counts[event] = 0
        _LOG.error("%s: %s refused in the last minute", event, amount(count, "request"))
        self._later(_EVERY, lambda: self._summarize(event))
