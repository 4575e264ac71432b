"""Work on all cores: threads side by side, for functions that release the interpreter's lock while they work."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

P = TypeVar("P")
R = TypeVar("R")


def on_all_cores(work: Callable[[P], R], parts: Iterable[P]) -> Iterator[R]:
    """What the work makes of each part, in the order of the parts; an error in any of them is raised."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(work, parts)
