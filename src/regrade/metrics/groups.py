"""Accuracy by group (region, income, class) and the disparity between groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import MismatchError, UndefinedError


@dataclass(frozen=True)
class GroupAccuracy:
    """Counts by group for m models: ``names`` (g,), ``sizes`` (g,), ``right`` (m, g)."""

    names: tuple[str, ...]
    sizes: IntArray
    right: IntArray

    @property
    def accuracies(self) -> FloatArray:
        """Shape (m, g)."""
        return self.right / self.sizes

    @property
    def micro(self) -> FloatArray:
        """Shape (m,): the mean over images."""
        return self.right.sum(axis=1) / self.sizes.sum()

    @property
    def macro(self) -> FloatArray:
        """Shape (m,): the unweighted mean over groups."""
        return self.accuracies.mean(axis=1)

    @property
    def worst(self) -> FloatArray:
        """Shape (m,): the accuracy on each model's worst group."""
        return self.accuracies.min(axis=1)

    @property
    def worst_group(self) -> tuple[str, ...]:
        """Each model's worst group; the first by name among ties."""
        return tuple(self.names[i] for i in self.accuracies.argmin(axis=1))

    @property
    def disparity(self) -> FloatArray:
        """Shape (m,): the best group's accuracy minus the worst's (Richards et al. 2023)."""
        return np.ptp(self.accuracies, axis=1)


def group_accuracy(correct: BoolArray, groups: ArrayLike) -> GroupAccuracy:
    """Count right images by group, from ``correct`` (m, n) and ``groups`` (n,); groups are sorted by name."""
    names, members, sizes = np.unique(np.asarray(groups), return_inverse=True, return_counts=True)
    if correct.ndim != 2 or correct.shape[1] != len(members):
        raise MismatchError(f"correct {correct.shape} does not fit {len(members)} group values")
    if not len(names):
        raise UndefinedError("accuracy by group needs at least one image, got 0")
    counts = [np.bincount(members, weights=row, minlength=len(names)) for row in correct]
    right = np.array(counts, dtype=np.int64).reshape(len(correct), len(names))
    return GroupAccuracy(tuple(str(name) for name in names), sizes, right)
