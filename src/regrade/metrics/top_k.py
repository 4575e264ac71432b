"""Top-k classes and correctness: over all classes, within a subset (ImageNet-A, -R), and through a class map."""

from __future__ import annotations

import numpy as np

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.class_space import ClassMap
from regrade.core.errors import InputError, MismatchError
from regrade.core.predictions import NO_ANSWER
from regrade.core.ties import Ties, joined_ties

_BLOCK = 1 << 22  # scores processed at a time
_FEW = 16  # up to this k, k argmax passes are faster than sorting


def top_k_classes(scores: FloatArray, *, k: int) -> IntArray:
    """Shape (n, k): the classes with the highest ``scores`` (n, c), best first.

    Ties go to the lower class index on every platform; `ties_across` has what is tied. NaN scores raise.

    >>> top_k_classes(np.array([[0.2, 0.5, 0.5, 0.1]]), k=3).tolist()
    [[1, 2, 0]]
    """
    if scores.ndim != 2 or not 1 <= k <= scores.shape[1]:
        raise InputError(f"top-{k} needs scores of shape (images, classes >= {k}), got {scores.shape}")
    if not np.issubdtype(scores.dtype, np.floating):
        raise InputError(f"scores must be floating-point numbers, got {scores.dtype}: convert them first")
    best = np.empty((len(scores), k), dtype=np.int32)
    step = max(1, _BLOCK // scores.shape[1])
    for start in range(0, len(scores), step):
        block = scores[start : start + step]
        if np.isnan(block).any():
            row = start + int(np.flatnonzero(np.isnan(block).any(axis=1))[0])
            raise InputError(f"row {row + 1} of the scores contains NaN: it has no best class")
        best[start : start + step] = _block_top_k(block, k)
    return best


def _block_top_k(block: FloatArray, k: int) -> IntArray:
    if k > _FEW:
        return np.argsort(-block, axis=1, kind="stable")[:, :k]
    rest = np.array(block)
    best = np.empty((len(block), k), dtype=np.int32)
    rows = np.arange(len(block))
    for rank in range(k):
        best[:, rank] = rest.argmax(axis=1)  # ties go to the lower class index
        spent = np.isneginf(rest[rows, best[:, rank]])  # a score of -inf looks like an already chosen class
        rest[rows, best[:, rank]] = -np.inf
    if spent.any():
        best[spent] = np.argsort(-block[spent], axis=1, kind="stable")[:, :k]
    return best


def ties_across(scores: FloatArray, best: IntArray) -> Ties | None:
    """The ties between the last of the ``best`` classes (n, k) and others, from ``scores`` (n, c); None without any.

    >>> scores = np.array([[0.0, 1.0, 0.0, 0.0], [0.4, 0.3, 0.2, 0.1]])
    >>> ties = ties_across(scores, top_k_classes(scores, k=2))
    >>> ties.rows.tolist(), ties.classes(np.array([0]), 4).astype(int).tolist()
    ([0], [[1, 0, 1, 1]])
    """
    parts = []
    step = max(1, _BLOCK // scores.shape[1])
    for start in range(0, len(scores), step):
        block, own = scores[start : start + step], best[start : start + step]
        tied = block == np.take_along_axis(block, own[:, -1:], axis=1)
        rows = np.flatnonzero(tied.sum(axis=1) > np.take_along_axis(tied, own, axis=1).sum(axis=1))
        parts.append((start, Ties(rows, np.packbits(tied[rows], axis=1)) if len(rows) else None))
    return joined_ties(parts)


def expected_correct(classes: IntArray, tied: BoolArray, accepted: BoolArray) -> FloatArray:
    """Shape (n,): the probability that an accepted class is among the top k if ties are broken at random.

    ``classes`` (n, k) are the top k in any order of ties, ``tied`` (n, c) the classes that score as much as the last
    of them, and ``accepted`` (n, c) the correct classes. Of t tied classes, m are among the top k: any m of them are
    equally likely, so one accepted class among them is with probability m / t.

    >>> expected_correct(np.array([[2, 0]]), np.array([[1, 1, 0, 1]]) > 0, np.array([[0, 0, 0, 1]]) > 0).round(4)
    array([0.3333])
    """
    certain = np.take_along_axis(accepted & ~tied, classes, axis=1).any(axis=1)
    places = np.take_along_axis(tied, classes, axis=1).sum(axis=1)
    count, right = tied.sum(axis=1), (tied & accepted).sum(axis=1)
    missed = np.ones(len(classes))
    for drawn in range(classes.shape[1]):  # each place in turn goes to a class that is not accepted
        left = np.maximum(count - drawn, 1)
        missed *= np.where(drawn < places, np.maximum(left - right, 0) / left, 1.0)
    share = np.where(right == 1, places / count, 1.0 - missed)  # the same value, without rounding in between
    return np.where(certain, 1.0, share)


def top_k_correct(classes: IntArray, labels: IntArray) -> BoolArray:
    """Shape (n,): whether the label (n,) is among the classes (n, k); False without a label (-1)."""
    if len(classes) != len(labels):
        raise MismatchError(f"{len(classes)} rows of classes but {len(labels)} labels")
    return (classes == labels[:, None]).any(axis=1) & (labels >= 0)


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
