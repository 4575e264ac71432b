"""Sampling clusters of the images of a test set, such as households: images of one cluster are treated as dependent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regrade.core import Estimate, TestSet, UnknownName
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.stats import bounded_mean, clustered_share, proportion
from regrade.studies.study import option

HOUSEHOLD = "household"
"""The default cluster column, if the test set has it."""

INDEPENDENT = "none"
"""In place of a cluster column: images are independent, even if the test set has households."""


def clusters_option() -> Any:
    """The option ``clusters``."""
    return option(
        "Column of the sampling clusters, or none (default: household, if there is such a column).",
        None,
        metavar="COLUMN",
    )


@dataclass(frozen=True, eq=False)
class ImageClusters:
    """The cluster ``numbers`` (n,) of all images by a ``column``; the images without a value are ``alone`` (n,)."""

    column: str
    numbers: IntArray
    alone: BoolArray

    def notes(self, inside: BoolArray | IntArray) -> tuple[str, ...]:
        """What the intervals over the images ``inside`` are about, a mask (n,) or positions."""
        count = amount(len(np.unique(self.numbers[inside])), "cluster")
        missing = int(self.alone[inside].sum())
        single = (f"{amount(missing, 'image')} without {self.column}: each a cluster of its own",) if missing else ()
        return (f"intervals are over {count} of images, by column {self.column}", *single)


def column_values(test_set: TestSet, column: str) -> tuple[str, ...]:
    """Return the values of a group column, one per example."""
    if column not in test_set.group_columns:
        raise UnknownName(f"group column of {test_set.name}", column, test_set.group_columns)
    return test_set.group_columns[column]


def cluster_column(test_set: TestSet, column: str | None = None) -> str | None:
    """The given column, which must exist, or that of households, in any case of letters; None without one."""
    if column is not None:
        column_values(test_set, column)
        return column
    return next((name for name in test_set.group_columns if name.casefold() == HOUSEHOLD), None)


def image_clusters(test_set: TestSet, column: str | None) -> ImageClusters | None:
    """The clusters of a test set by a column (default: its households); None without one, or if it is `INDEPENDENT`.

    An image without a value is a cluster of its own. An unknown column raises with suggestions.
    """
    if column == INDEPENDENT and column not in test_set.group_columns:
        return None
    column = cluster_column(test_set, column)
    if column is None:
        return None
    alone = np.array([not value.strip() for value in column_values(test_set, column)], dtype=bool)
    return ImageClusters(column, cluster_numbers(test_set, column), alone)


def clusters_of_sets(test_sets: Sequence[TestSet], column: str | None) -> list[ImageClusters | None]:
    """The clusters of several test sets, as `image_clusters`; a named column must be one of at least one of them."""
    if column is None or column == INDEPENDENT:
        return [image_clusters(test_set, column) for test_set in test_sets]
    having = [column in test_set.group_columns for test_set in test_sets]
    if not any(having):
        column_values(test_sets[0], column)  # raises, with suggestions
    return [image_clusters(part, column) if has else None for part, has in zip(test_sets, having, strict=True)]


def common_clusters(test_sets: Sequence[TestSet], clusters: Sequence[ImageClusters | None]) -> tuple[str, ...]:
    """A note on clusters with the same name on two test sets; empty without any, or for a single test set."""
    values = [
        {value for value in column_values(test_set, part.column) if value.strip()}
        for test_set, part in zip(test_sets, clusters, strict=True)
        if part
    ]
    common = set.intersection(*values) if len(values) > 1 else ()
    if not common:
        return ()
    names = " and ".join(test_set.name for test_set in test_sets)
    return (f"{amount(len(common), 'cluster')} of {names} have the same name: intervals take them as different ones",)


def cluster_numbers(test_set: TestSet, column: str) -> IntArray:
    """Shape (n,): the number of each image's cluster by a column; an image without a value is a cluster of its own."""
    values = column_values(test_set, column)
    keys = np.array([value if value.strip() else f"\0{place}" for place, value in enumerate(values)])
    return np.unique(keys, return_inverse=True)[1]


def numbers_of(clusters: ImageClusters | None, images: BoolArray | IntArray) -> IntArray | None:
    """The clusters (k,) of some images, given by a mask or by positions; None without clusters."""
    return None if clusters is None else clusters.numbers[images]


def numbers_in(numbers: IntArray | None, inside: BoolArray | IntArray) -> IntArray | None:
    """The clusters of images ``inside``, a mask (n,) or positions, from those of all (n,); None without clusters."""
    return None if numbers is None else numbers[inside]


def random_half(images: int, clusters: ImageClusters | None, rng: np.random.Generator) -> BoolArray:
    """Shape (n,): a random half of ``images``; those of one cluster are on the same side, so it may be somewhat more.

    Clusters are taken in random order while less than half of the images are in.
    """
    numbers = np.arange(images) if clusters is None else clusters.numbers
    _, firsts, members, sizes = np.unique(numbers, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(firsts)[np.argsort(rng.permutation(len(sizes)))]  # alone, an image is drawn as without clusters
    before = np.cumsum(sizes[order]) - sizes[order]
    inside = np.empty(len(sizes), dtype=bool)
    inside[order] = before < images / 2
    half: BoolArray = inside[members]
    return half


def kind_shares(kinds: IntArray, count: int, numbers: IntArray | None, *, confidence: float) -> tuple[Estimate, ...]:
    """The share of each of ``count`` kinds, numbered from 0, among the ``kinds`` (k,) of images; k must be above 0."""
    return tuple(mean_credit(kinds == kind, numbers, confidence=confidence) for kind in range(count))


def share_of(
    credit: BoolArray | FloatArray, counted: BoolArray, clusters: ImageClusters | None, *, confidence: float
) -> Estimate | None:
    """The mean credit (n,) from 0 to 1 of the images that count; None without one.

    The interval is exact over images, or over clusters by Korn and Graubard.
    """
    values = credit[counted]
    return mean_credit(values, numbers_of(clusters, counted), confidence=confidence) if len(values) else None


def mean_credit(values: BoolArray | FloatArray, numbers: IntArray | None, *, confidence: float) -> Estimate:
    """The mean of ``values`` (k,) from 0 to 1, with an interval over images, or over clusters by ``numbers`` (k,)."""
    if numbers is not None:
        return clustered_share(values, numbers, confidence=confidence)
    if not np.isin(values, (0, 1)).all():
        return bounded_mean(values, largest=1.0, confidence=confidence)
    return proportion(int(values.sum()), len(values), confidence=confidence)
