"""Run functions that release the GIL in threads on all CPU cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

P = TypeVar("P")
R = TypeVar("R")


def on_all_cores(work: Callable[[P], R], parts: Iterable[P]) -> Iterator[R]:
    """The result of the function for each part, in the order of the parts; an error in any part is raised."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(work, parts)
