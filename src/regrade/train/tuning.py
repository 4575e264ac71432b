"""Choose a point of a grid on images and seeds other than those that it predicts, so that the choice has no bias."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regrade.core import Estimate
from regrade.core.arrays import BoolArray, IntArray
from regrade.studies.paired_groups import contrast, paired_groups


@dataclass(frozen=True, eq=False)
class ChosenPoints:
    """Positions in a grid by seed: of the points that predict the halves (k, 2), and other test sets (k,)."""

    for_halves: IntArray
    for_rest: IntArray


def chosen_points(right: BoolArray, halves: IntArray) -> ChosenPoints:
    """Choose points from ``right`` (p, k, n) and the half (n,) of every image, 0 or 1; ties go to the first point.

    A member's images of one half are predicted by the point with the best mean accuracy of the *other* seeds on the
    *other* half, since a point may be the best by luck of its images or of its seeds. Other test sets are predicted by
    the best point of the other seeds on both halves. A single seed chooses for itself.

    >>> right = np.array([[[1, 1, 0, 0]], [[0, 0, 1, 1]]], dtype=bool)
    >>> chosen_points(right, np.array([0, 0, 1, 1])).for_halves.tolist()
    [[1, 0]]
    """
    counts = np.stack([right[..., inside].sum(axis=2) for inside in (halves == 1, halves == 0, halves >= 0)], axis=2)
    of_rest = counts.sum(axis=1, keepdims=True) - counts if right.shape[1] > 1 else counts
    best = of_rest.argmax(axis=0)
    return ChosenPoints(best[:, :2], best[:, 2])


def cross_fitted(right: BoolArray, halves: IntArray, chosen: ChosenPoints) -> BoolArray:
    """Shape (k, n): the correctness of each member on every image, by the point that was chosen for it."""
    seeds, images = np.arange(right.shape[1])[:, None], np.arange(right.shape[2])
    correct: BoolArray = right[chosen.for_halves[:, halves], seeds, images]
    return correct


def seeded_accuracy(right: BoolArray, clusters: IntArray | None = None, *, confidence: float) -> Estimate:
    """The mean accuracy of models (k, n) of one method, with an interval over seeds and images, or their clusters."""
    n = right.shape[1]
    paired = paired_groups(np.stack([right, right]), np.zeros(n, dtype=np.int64), clusters)
    estimate = contrast(paired, np.array([1.0, 0.0]), n, confidence=confidence)
    return Estimate(estimate.value, max(estimate.low, 0.0), estimate.high, n, estimate.method)
