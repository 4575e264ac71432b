"""Scoring across class spaces: within a subset of classes (ImageNet-A, -R), or through a class map."""

from __future__ import annotations

import numpy as np

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.class_map import ClassMap
from regrade.core.errors import MismatchError
from regrade.core.predictions import NO_ANSWER
from regrade.metrics.top_k import top_k_classes


def top_k_within(scores: FloatArray, allowed: IntArray, *, k: int) -> IntArray:
    """Shape (n, k): the top k of the ``allowed`` classes, as indices into all classes, from scores (n, c)."""
    ascending = np.unique(allowed)
    return ascending[top_k_classes(scores[:, ascending], k=k)]


def best_within(classes: IntArray, allowed: IntArray) -> IntArray:
    """Shape (n,): the best allowed class, from the stored top-k classes (n, k).

    It is `NO_ANSWER` where none of the stored classes is allowed, because the best allowed class is then unknown.
    """
    inside = np.isin(classes, allowed)
    best = np.take_along_axis(classes, inside.argmax(axis=1)[:, None], axis=1)[:, 0]
    return np.where(inside.any(axis=1), best.astype(np.int32), NO_ANSWER)  # signed, because NO_ANSWER is negative


def mapped_correct(classes: IntArray, labels: IntArray, class_map: ClassMap) -> BoolArray:
    """Shape (n,): whether any of the source classes (n, k) maps to the target label (n,).

    Images without a label, or whose label has no source class, count as wrong: exclude them with `ClassMap.scorable`
    first.
    """
    if len(classes) != len(labels):
        raise MismatchError(f"{len(classes)} rows of classes but {len(labels)} labels")
    present = (classes >= 0) & (labels >= 0)[:, None]
    return np.logical_or.reduce(class_map.accepts[labels[:, None], classes] & present, axis=1)
