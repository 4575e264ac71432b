"""Scoring across class spaces: among some classes only (ImageNet-A, -R), or through a class map."""

from __future__ import annotations

import numpy as np

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.class_map import ClassMap
from regrade.core.errors import MismatchError
from regrade.core.predictions import NO_ANSWER
from regrade.metrics.top_k import top_k_classes


def top_k_within(scores: FloatArray, allowed: IntArray, *, k: int) -> IntArray:
    """Shape (n, k): the best k of the ``allowed`` classes, as indices of all, from all scores (n, c)."""
    ascending = np.unique(allowed)
    return ascending[top_k_classes(scores[:, ascending], k=k)]


def best_within(classes: IntArray, allowed: IntArray) -> IntArray:
    """Shape (n,): the first of the stored best classes (n, k) that is allowed.

    It is the best allowed class of all, since the stored ones come best first; where none of them
    is allowed the answer lies beyond what was stored, and is `NO_ANSWER`.
    """
    inside = np.isin(classes, allowed)
    best = np.take_along_axis(classes, inside.argmax(axis=1)[:, None], axis=1)[:, 0]
    return np.where(inside.any(axis=1), best.astype(np.int32), NO_ANSWER)  # unsigned would hide NO_ANSWER


def mapped_correct(classes: IntArray, labels: IntArray, class_map: ClassMap) -> BoolArray:
    """Shape (n,): whether any of the classes (n, k) of the source stands for the label (n,) of the target.

    Images without a label, or whose label has no source class, come out wrong: leave them out with
    `ClassMap.scorable` first.
    """
    if len(classes) != len(labels):
        raise MismatchError(f"{len(classes)} rows of classes but {len(labels)} labels")
    answered = (classes >= 0) & (labels >= 0)[:, None]
    return np.logical_or.reduce(class_map.accepts[labels[:, None], classes] & answered, axis=1)
