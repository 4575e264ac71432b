"""A few computed values at a time, each made anew when what it was made from has changed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import RLock
from typing import Generic, TypeVar

Value = TypeVar("Value")


class RecentCache(Generic[Value]):
    """Keeps the ``most`` values that were asked for last; a value is good for as long as its stamp is the same."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, tuple[Hashable, Value]] = OrderedDict()
        self._lock = RLock()

    def get(self, key: Hashable, stamp: Hashable, make: Callable[[Value | None], Value]) -> Value:
        """The value of a key; ``make`` is given the outdated one, and no two run at once."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is None or kept[0] != stamp:
                kept = (stamp, make(None if kept is None else kept[1]))
                self._kept[key] = kept
            self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
            return kept[1]
