"""Folds of the images of a test set: balanced by class, with the images of a cluster in one fold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regrade.core import InputError, TestSet
from regrade.core.amounts import amount
from regrade.core.arrays import IntArray
from regrade.studies.image_clusters import cluster_numbers


def stratified_folds(labels: IntArray, clusters: IntArray, *, folds: int, seed: int) -> IntArray:
    """Shape (n,): the fold of every image, from 0 on; ``seed`` decides the order in which clusters are dealt.

    The next cluster goes to the fold with the fewest images of its most frequent class, among these to one with the
    fewest images. Without clusters of several images, folds differ by at most one image of each class.

    >>> stratified_folds(np.array([0, 0, 1, 1]), np.arange(4), folds=2, seed=0).tolist()
    [1, 0, 0, 1]
    """
    rng = np.random.default_rng(seed)
    count, classes = int(clusters.max()) + 1, int(labels.max()) + 1
    contents = np.zeros((count, classes), dtype=np.int64)
    np.add.at(contents, (clusters, labels), 1)
    shuffled = rng.permutation(count)
    largest_first = shuffled[np.argsort(-contents[shuffled].sum(axis=1), kind="stable")]
    sizes, fold_of = np.zeros((folds, classes), dtype=np.int64), np.empty(count, dtype=np.int64)
    for cluster in largest_first:
        own = sizes[:, contents[cluster].argmax()]
        fold_of[cluster] = fold = np.lexsort((sizes.sum(axis=1), own))[0]
        sizes[fold] += contents[cluster]
    members: IntArray = fold_of[clusters]
    return members


def fold_clusters(test_set: TestSet, column: str | None, hashes: tuple[bytes, ...]) -> IntArray:
    """Shape (n,): numbers of the clusters that stay in one fold, from 0 on.

    Images with the same value of ``column`` are in one cluster, and so are images with the same pixels (``hashes``): a
    network must not be tested on an image it was trained with.
    """
    links: list[IntArray] = [np.unique(hashes, return_inverse=True)[1]]
    if column is not None:
        links.append(cluster_numbers(test_set, column))
    return _joined(links)


def _joined(links: Sequence[IntArray]) -> IntArray:
    """Shape (n,): numbers of the sets of images that are connected by a common number in any of the links (n,)."""
    from scipy import sparse  # slow to import

    images, starts = len(links[0]), len(links[0]) + np.cumsum([0, *(int(numbers.max()) + 1 for numbers in links)])
    rows = np.tile(np.arange(images), len(links))
    columns = np.concatenate([numbers + start for numbers, start in zip(links, starts, strict=False)])
    edges = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(starts[-1], starts[-1]))
    numbers = sparse.csgraph.connected_components(edges, directed=False)[1][:images]
    return np.unique(numbers, return_inverse=True)[1].astype(np.int64)


def check_folds(test_set: TestSet, clusters: IntArray, folds: int, *, written: str) -> None:
    """Raise if a class has too few images for so many folds, or if there are too few clusters."""
    sizes = np.bincount(test_set.labels, minlength=len(test_set.class_space))
    smallest = int(np.where(sizes > 0, sizes, np.iinfo(np.int64).max).argmin())
    if sizes[smallest] < folds:
        raise InputError(
            f"class {test_set.class_space.names[smallest]} has {amount(int(sizes[smallest]), 'image')} in "
            f"{test_set.name}, too few for {written}"
        )
    if (count := int(clusters.max()) + 1) < folds:
        raise InputError(f"{test_set.name} has {amount(count, 'cluster')} of images, too few for {written}")
