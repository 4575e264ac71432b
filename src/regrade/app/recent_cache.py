"""A bounded cache whose values are computed again when their inputs change."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import RLock
from typing import Generic, TypeVar

Value = TypeVar("Value")


class RecentCache(Generic[Value]):
    """Keeps the ``size`` most recently used values; a value is valid as long as its stamp stays the same."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: OrderedDict[Hashable, tuple[Hashable, Value]] = OrderedDict()
        self._lock = RLock()

    def get(self, key: Hashable, stamp: Hashable, make: Callable[[Value | None], Value]) -> Value:
        """The value of a key; ``make`` gets the outdated value if there is one, and runs in one thread at a time."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is None or kept[0] != stamp:
                kept = (stamp, make(None if kept is None else kept[1]))
                self._kept[key] = kept
            self._kept.move_to_end(key)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)
            return kept[1]
