"""A rate-limited error log: the first event of a kind at once, then one line per minute with the count."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Lock, Timer

from regrade.core.amounts import amount

_LOG = logging.getLogger("regrade.app")
_INTERVAL = 60.0  # seconds between summaries


def _start_timer(seconds: float, action: Callable[[], None]) -> None:
    timer = Timer(seconds, action)
    timer.daemon = True  # a pending summary must not delay the exit
    timer.start()


class ErrorLog:
    """Counts events by kind; ``schedule`` runs a function after some seconds, and tests replace it."""

    def __init__(self, schedule: Callable[[float, Callable[[], None]], None] = _start_timer) -> None:
        self._schedule = schedule
        self._counts: dict[str, int] = {}
        self._lock = Lock()

    def record(self, event: str, detail: str, *, error: BaseException | None = None) -> None:
        """Log the first event of a kind, with the traceback of ``error``; count those that follow."""
        with self._lock:
            repeated = event in self._counts
            self._counts[event] = self._counts[event] + 1 if repeated else 0
        if not repeated:
            _LOG.error("%s: %s", event, detail, exc_info=error)
            self._schedule(_INTERVAL, lambda: self._summarize(event))

    def _summarize(self, event: str) -> None:
        """Log the count of the last minute; after a minute without events, log the next one at once again."""
        with self._lock:
            count = self._counts[event]
            if count == 0:
                del self._counts[event]
                return
            self._counts[event] = 0
        _LOG.error("%s: %s refused in the last minute", event, amount(count, "request"))
        self._schedule(_INTERVAL, lambda: self._summarize(event))
