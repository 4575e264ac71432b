"""Pairs of classes, counted by how often one is mistaken for the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regrade.core.arrays import IntArray
from regrade.core.errors import MismatchError


@dataclass(frozen=True)
class ConfusedPairs:
    """Pairs of classes and their counts (p,), in descending order of counts, then by class index."""

    first: IntArray
    second: IntArray
    counts: IntArray


def confusions(labels: IntArray, predictions: IntArray) -> ConfusedPairs:
    """Count how often label ``first`` is predicted as ``second``, from labels and predictions (r,).

    An image with several right labels has one row per label.
    """
    return _counted(*_mistaken(labels, predictions))


def confused_pairs(labels: IntArray, predictions: IntArray) -> ConfusedPairs:
    """Count confused pairs in both directions together; ``first`` is the lower class index."""
    a, b = _mistaken(labels, predictions)
    return _counted(np.minimum(a, b), np.maximum(a, b))


def _mistaken(labels: IntArray, predictions: IntArray) -> tuple[IntArray, IntArray]:
    if labels.shape != predictions.shape:
        raise MismatchError(f"{labels.shape} labels but {predictions.shape} predictions")
    mistaken = (labels != predictions) & (labels >= 0) & (predictions >= 0)
    return labels[mistaken].astype(np.int64), predictions[mistaken].astype(np.int64)


def _counted(first: IntArray, second: IntArray) -> ConfusedPairs:
    base = int(second.max(initial=0)) + 1
    keys, counts = np.unique(first * base + second, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return ConfusedPairs(keys[order] // base, keys[order] % base, counts[order])
