"""A test set whose images are added to the training set, all but one fold at a time, so that each fold is a test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from regrade.core import InputError, TestSet
from regrade.core.arrays import IntArray
from regrade.studies.image_clusters import cluster_column
from regrade.train.folds import check_folds, fold_clusters, stratified_folds
from regrade.train.images import ImageTensors


@dataclass(frozen=True, eq=False)
class AddedSet:
    """The set, its labels (n,) and the clusters (n,) of images that stay in one fold; ``column`` names clusters."""

    name: str
    folds: int
    labels: IntArray
    clusters: IntArray
    column: str | None = None

    @classmethod
    def of(cls, test_set: TestSet, hashes: tuple[bytes, ...], *, folds: int, clusters: str | None) -> AddedSet:
        """The folds of a test set, whose images have the ``hashes``; raise if there cannot be so many."""
        column = cluster_column(test_set, clusters)
        numbers = fold_clusters(test_set, column, hashes)
        check_folds(test_set, numbers, folds, written=f"--folds {folds}")
        return cls(test_set.name, folds, test_set.labels, numbers, column)

    def fold_of(self, seed: int) -> IntArray:
        """Shape (n,): the fold of every image for the member of a seed."""
        return stratified_folds(self.labels, self.clusters, folds=self.folds, seed=seed)

    def held_out(self, seed: int, fold: int) -> IntArray:
        """The positions of the images that the network of a fold never sees."""
        return np.flatnonzero(self.fold_of(seed) == fold)

    def with_fold(
        self, training_set: str, tensors: Mapping[str, ImageTensors], *, seed: int, fold: int
    ) -> tuple[str, dict[str, ImageTensors]]:
        """The name of the enlarged training set, and the images of all sets; of the added set, only the fold."""
        import torch

        own = tensors[self.name]
        outside = torch.from_numpy(self.fold_of(seed) == fold).to(own.labels.device)
        enlarged = tensors[training_set].followed_by(own.at(~outside))
        name = self.enlarged(training_set)
        return name, {**tensors, name: enlarged, self.name: own.at(outside)}

    def enlarged(self, training_set: str) -> str:
        """The name of the training set with the images of all folds but one."""
        return f"{training_set} + {self.name}"

    def as_plain(self) -> dict[str, Any]:
        """The settings as plain values."""
        return {"added_set": self.name, "folds": self.folds, "clusters": self.column}


def check_new_set(new: str, training_set: str, test_sets: Mapping[str, TestSet], *, written: str) -> TestSet:
    """The test set of an option; raise if it is the training set, is not scored, or has images without labels."""
    if new == training_set:
        raise InputError(f"{written} {new} is the training set: name a test set")
    if new not in test_sets:
        raise InputError(f"{written} {new} is not among the test sets: give --test-set {new}")
    test_set = test_sets[new]
    if missing := int((~test_set.labeled).sum()):
        raise InputError(f"{missing:,} of {len(test_set):,} images of {new} have no label: {written} needs all")
    return test_set
