"""Limits on how many public pages and images an address gets; kept in memory, since reading changes nothing."""

from __future__ import annotations

from collections import OrderedDict
from datetime import datetime, timedelta
from threading import Lock

from regrade.ledger import Rate
from regrade.ledger.schema import now_in_utc

VIEWS = Rate(400, timedelta(seconds=0.25))
"""Pages and images for one address."""

_MOST_ADDRESSES = 10_000


class ViewLimits:
    """The views of each address in this process; the addresses that were not seen for longest are forgotten."""

    def __init__(self) -> None:
        self._clocks: OrderedDict[str, datetime] = OrderedDict()
        self._lock = Lock()

    def reserve(self, address: str) -> float:
        """Count a view and return 0, or return the seconds to wait without counting it."""
        now = now_in_utc()
        with self._lock:
            clock = self._clocks.get(address, now)
            if (seconds := VIEWS.wait(clock, now)) > 0:
                return seconds
            self._clocks[address] = VIEWS.advanced(clock, now)
            self._clocks.move_to_end(address)
            if len(self._clocks) > _MOST_ADDRESSES:
                self._clocks.popitem(last=False)
        return 0.0
