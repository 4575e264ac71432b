"""Zoom into the center of an image."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def zoomed(values: NDArray[np.float32], factor: float) -> NDArray[np.float32]:
    """Enlarge the center of (h, w) or (h, w, 3) by a factor of at least 1, with linear interpolation."""
    return _stretched(_stretched(values, factor, axis=0), factor, axis=1)


def _stretched(values: NDArray[np.float32], factor: float, *, axis: int) -> NDArray[np.float32]:
    length = values.shape[axis]
    kept = int(np.ceil(length / factor))
    enlarged = round(kept * factor)
    places = np.linspace(0, kept - 1, enlarged)[(enlarged - length) // 2 :][:length] + (length - kept) // 2
    below = np.minimum(places.astype(int), length - 2) if length > 1 else np.zeros(length, dtype=int)
    above = np.minimum(below + 1, length - 1)
    share = (places - below).astype(np.float32).reshape([-1 if a == axis else 1 for a in range(values.ndim)])
    first, second = np.take(values, below, axis=axis), np.take(values, above, axis=axis)
    return first + share * (second - first)
