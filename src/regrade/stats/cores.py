"""Dear elementwise functions on all cores: scipy's release the interpreter's lock while they work."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.arrays import FloatArray
from regrade.core.cores import on_all_cores

_PART = 1 << 12  # numbers at a time: some milliseconds of work, far more than a thread costs


def elementwise(function: Callable[..., FloatArray], *arguments: ArrayLike) -> FloatArray:
    """The function of arguments that broadcast, computed in parts side by side; the values are those of one call."""
    whole = np.broadcast(*arguments)
    if whole.size <= _PART:
        return np.asarray(function(*arguments))
    flat = [array.ravel() for array in np.broadcast_arrays(*arguments)]
    parts = [slice(start, start + _PART) for start in range(0, whole.size, _PART)]
    values = on_all_cores(lambda part: function(*(array[part] for array in flat)), parts)
    return np.concatenate(list(values)).reshape(whole.shape)
