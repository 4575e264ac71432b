"""How often two halves of the answers put an image into different frequency bins."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np

from regrade.core import Estimate
from regrade.core.arrays import FloatArray, IntArray
from regrade.core.frequency_bins import frequency_bins
from regrade.stats import subset_share


def split_half_changes(
    frequencies: FloatArray,
    answers: IntArray,
    edges: Sequence[float],
    clusters: IntArray | None = None,
    *,
    confidence: float = 0.95,
) -> Estimate:
    """Estimate how often two random halves of the answers about an image put it into different bins.

    ``frequencies`` (n,) are shares of ``answers`` (n,), at least 2 each. The average over all divisions into halves is
    exact (hypergeometric; of an odd number one answer is left out), the interval is over images, or over ``clusters``
    (n,) of them. Each half has only half of the answers: with all of them, an image changes its bin less often. Needs
    two images.
    """
    selected = np.round(frequencies * answers).astype(np.int64)
    pairs, places = np.unique(np.stack([selected, answers], axis=1), axis=0, return_inverse=True)
    changes = np.array([_change_probability(int(chosen), int(of), edges) for chosen, of in pairs])
    shares = changes[places.reshape(-1)]
    return subset_share(shares, np.ones(len(shares), dtype=bool), clusters, confidence=confidence)


def _change_probability(selected: int, answers: int, edges: Sequence[float]) -> float:
    """The probability that two halves of the answers about one image are in different bins."""
    half = answers // 2
    bins = frequency_bins([count / half for count in range(half + 1)], edges)
    same = sum(
        _ways(selected, answers, half, first) * _ways(selected - first, answers - half, half, second)
        for first in range(min(half, selected) + 1)
        for second in range(min(half, selected - first) + 1)
        if bins[first] == bins[second]
    )
    return 1 - same / (comb(answers, half) * comb(answers - half, half))


def _ways(selected: int, answers: int, size: int, count: int) -> int:
    """How many of the sets of ``size`` answers have ``count`` of the selections."""
    against = answers - selected
    return comb(selected, count) * comb(against, size - count) if 0 <= size - count <= against else 0
