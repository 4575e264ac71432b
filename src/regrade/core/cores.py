"""Work on all CPU cores: functions that release the GIL run in threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.arrays import FloatArray

P = TypeVar("P")
R = TypeVar("R")
_PART = 1 << 12  # elements per task: some milliseconds of work, far more than the overhead of a thread


def usable_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def on_all_cores(work: Callable[[P], R], parts: Iterable[P]) -> Iterator[R]:
    """The result of the function for each part, in the order of the parts; an error in any part is raised."""
    with ThreadPoolExecutor(usable_cores()) as pool:
        yield from pool.map(work, parts)


def elementwise(function: Callable[..., FloatArray], *arguments: ArrayLike) -> FloatArray:
    """Apply a ufunc to arguments that broadcast, in parallel; the result equals that of a single call."""
    whole = np.broadcast(*arguments)
    if whole.size <= _PART:
        return np.asarray(function(*arguments))
    flat = [array.ravel() for array in np.broadcast_arrays(*arguments)]
    parts = [slice(start, start + _PART) for start in range(0, whole.size, _PART)]
    values = on_all_cores(lambda part: function(*(array[part] for array in flat)), parts)
    return np.concatenate(list(values)).reshape(whole.shape)
