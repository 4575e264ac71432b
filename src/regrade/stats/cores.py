"""Expensive elementwise functions on all cores: scipy's ufuncs release the GIL."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.arrays import FloatArray
from regrade.core.cores import on_all_cores

_PART = 1 << 12  # elements per task: some milliseconds of work, far more than the overhead of a thread


def elementwise(function: Callable[..., FloatArray], *arguments: ArrayLike) -> FloatArray:
    """Apply a ufunc to arguments that broadcast, in parallel; the result equals that of a single call."""
    whole = np.broadcast(*arguments)
    if whole.size <= _PART:
        return np.asarray(function(*arguments))
    flat = [array.ravel() for array in np.broadcast_arrays(*arguments)]
    parts = [slice(start, start + _PART) for start in range(0, whole.size, _PART)]
    values = on_all_cores(lambda part: function(*(array[part] for array in flat)), parts)
    return np.concatenate(list(values)).reshape(whole.shape)
