"""Sign-ins that fail make the next one wait, longer and longer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from time import monotonic

_FREE = 5  # tries before anyone has to wait
_LONGEST = 900.0  # seconds
_FORGET = 3600.0  # seconds after which failures count no more
_MOST = 10_000  # names and addresses that are kept


@dataclass
class _Failures:
    count: int
    last: float


class Throttle:
    """Counts failures by name and by address, in this process; ``clock`` is for tests that set the time."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._failures: dict[str, _Failures] = {}
        self._lock = Lock()

    def wait(self, *who: str) -> float:
        """Seconds until one of these may try again, 0 for at once."""
        with self._lock:
            return max((self._left(self._failures.get(one)) for one in who), default=0.0)

    def failed(self, *who: str) -> None:
        """Note a failure."""
        with self._lock:
            for one in who:
                known = self._failures.pop(one, None)
                count = 0 if known is None or self._clock() - known.last > _FORGET else known.count
                self._failures[one] = _Failures(count + 1, self._clock())
            while len(self._failures) > _MOST:
                del self._failures[next(iter(self._failures))]

    def succeeded(self, *who: str) -> None:
        """Forget the failures."""
        with self._lock:
            for one in who:
                self._failures.pop(one, None)

    def _left(self, failures: _Failures | None) -> float:
        if failures is None or failures.count < _FREE:
            return 0.0
        pause = min(2.0 ** (failures.count - _FREE), _LONGEST)
        return max(0.0, failures.last + pause - self._clock())
