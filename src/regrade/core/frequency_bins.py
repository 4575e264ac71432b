"""Bins of selection frequencies: their edges, their names, and the bin of a frequency (Recht et al. 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

EDGES = (0.2, 0.4, 0.6, 0.8)
"""The inner edges of the five frequency bins of Recht et al. 2019."""


def frequency_bins(frequencies: Sequence[float], edges: Sequence[float] = EDGES) -> list[int]:
    """The bin of each frequency; a frequency equal to an edge belongs to the higher bin.

    >>> frequency_bins([0.0, 0.2, 0.39, 0.8, 1.0])
    [0, 1, 1, 4, 4]
    """
    bins: list[int] = np.searchsorted(edges, frequencies, side="right").tolist()
    return bins


def bin_names(edges: Sequence[float] = EDGES) -> list[str]:
    """The names of the bins between edges, such as ``[0.2, 0.4)``."""
    bounds = [0.0, *edges, 1.0]
    pairs = [f"[{low:g}, {high:g}" for low, high in pairwise(bounds)]
    return [f"{pair})" for pair in pairs[:-1]] + [f"{pairs[-1]}]"]
