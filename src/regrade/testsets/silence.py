"""Mute the warnings of Pillow while images are decoded in several threads."""

from __future__ import annotations

import warnings
from threading import Lock
from types import TracebackType


class MutedWarnings:
    """A context manager that mutes Pillow: the first thread to enter mutes it, the last one to exit unmutes it.

    Warning filters are shared by all threads: one `warnings.catch_warnings` per thread would restore wrong filters.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._filters = warnings.catch_warnings()
        self._own: object = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._filters = warnings.catch_warnings()
                self._filters.__enter__()
            if not warnings.filters or warnings.filters[0] is not self._own:  # other code may have added a filter
                warnings.filterwarnings("ignore", module=r"PIL\.")
                self._own = warnings.filters[0]
            self._inside += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._filters.__exit__(kind, error, trace)
