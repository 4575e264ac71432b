"""Differences between methods, each trained with several seeds: intervals over paired seeds and images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from regrade.core import Column, Estimate, InputError, Table
from regrade.core.arrays import BoolArray, IntArray
from regrade.stats import bonferroni_confidence, mark_simultaneous
from regrade.studies.image_basis import Basis
from regrade.studies.paired_groups import PairedGroups, contrast, paired_groups
from regrade.studies.seeded_methods import MethodPair, SeededMethod, paired_methods


@dataclass(frozen=True)
class MethodDifference:
    """The mean accuracies of two methods over ``seeds``, and their difference, first minus second.

    The differences of all pairs hold simultaneously; accuracies have intervals of their own.
    """

    first: str
    second: str
    seeds: int
    first_accuracy: Estimate
    second_accuracy: Estimate
    difference: Estimate


def method_pairs(methods: Sequence[SeededMethod]) -> tuple[MethodPair, ...]:
    """All pairs of methods, paired by seed; methods with different seeds raise, unless one is a single model."""
    if len(methods) < 2:
        raise InputError(f"a comparison of replicates needs at least two methods, got {len(methods)}")
    counts = Counter(model for method in methods for model in method.models.values())
    if shared := [model for model, count in counts.items() if count > 1]:
        raise InputError(f"{shared[0]} belongs to two of the replicates: each model may belong to one")
    return tuple(paired_methods(*pair) for pair in combinations(methods, 2))


def method_differences(
    pairs: Sequence[MethodPair],
    models: Sequence[str],
    correct: BoolArray,
    clusters: IntArray | None = None,
    *,
    confidence: float,
) -> tuple[MethodDifference, ...]:
    """Compare pairs of methods from ``correct`` (m, n) of their models; intervals of differences are simultaneous.

    Images of one of the ``clusters`` (n,) are dependent.
    """
    row_of = {model: row for row, model in enumerate(models)}
    level = bonferroni_confidence(len(pairs), confidence)
    everything, differences = np.zeros(correct.shape[1], dtype=np.int64), []
    for pair in pairs:
        rows = np.array([[row_of[model] for model in row] for row in pair.rows]).T
        paired = paired_groups(correct[rows], everything, clusters)
        differences.append(_difference(pair, paired, level, len(pairs), confidence))
    return tuple(differences)


def _difference(
    pair: MethodPair, paired: PairedGroups, level: float, pairs: int, confidence: float
) -> MethodDifference:
    """One pair of methods, from the accuracies of their paired seeds in a single group of images."""
    images = int(paired.images[0])
    first, second = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    first_mean, second_mean = (contrast(paired, weights, images, confidence=confidence) for weights in (first, second))
    difference = contrast(paired, first - second, images, confidence=level)
    if pairs > 1:
        difference = mark_simultaneous(difference, pairs, confidence=confidence)
    return MethodDifference(pair.baseline.name, pair.remedy.name, len(pair.rows), first_mean, second_mean, difference)


def method_table(basis: Basis, differences: Sequence[MethodDifference]) -> Table:
    """One row per pair of methods."""
    columns = (
        Column("first", "first"),
        Column("second", "second"),
        Column("seeds", "seeds"),
        Column("first_accuracy", "accuracy of first"),
        Column("second_accuracy", "accuracy of second"),
        Column("difference", "difference"),
    )
    rows = tuple(tuple(getattr(row, column.key) for column in columns) for row in differences)
    estimates = [estimate for row in differences for estimate in (row.first_accuracy, row.difference)]
    notes = (
        f"intervals: {', '.join(sorted({estimate.method for estimate in estimates}))}",
        "accuracies are means over seeds; seeds of two methods are paired by name",
        *basis.notes,
    )
    return Table(f"methods on {basis.title}, in %", columns, rows, notes)
