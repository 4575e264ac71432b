"""Test whether a group of classes is easier or harder than random groups (Shankar et al. 2020, section 5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.stats.intervals import tail_share


@dataclass(frozen=True)
class ClassBootstrap:
    """Result of `class_bootstrap` for m models.

    ``change`` (m,) is the accuracy on the chosen classes minus that on all. ``p_value`` (m,) is two-sided: twice the
    smaller of (1 + trials with at least that change) / (1 + trials) and the same with at most that change. ``low`` and
    ``high`` (m,) enclose the central 95% (or ``confidence``) of the changes for random sets of as many classes.
    """

    change: FloatArray
    p_value: FloatArray
    low: FloatArray
    high: FloatArray
    trials: int


def class_bootstrap(
    correct: BoolArray,
    labels: IntArray,
    chosen: IntArray,
    *,
    class_count: int,
    rng: np.random.Generator,
    trials: int = 1000,
    confidence: float = 0.95,
) -> ClassBootstrap:
    """Compare accuracy on the ``chosen`` classes with that on random sets of as many classes.

    ``correct`` is (m, n) and ``labels`` (n,) the main class of each image. Sets are drawn without replacement from all
    classes that have an image.
    """
    hits, sizes = _by_class(correct, labels, class_count)
    present = np.flatnonzero(sizes)
    inside = np.isin(present, chosen)
    if not inside.any():
        raise UndefinedError("none of the chosen classes has an image")
    everything = hits.sum(axis=1) / sizes.sum()
    change = _accuracy(hits[:, present], sizes[present], inside[None])[:, 0] - everything
    draws = _random_sets(len(present), int(inside.sum()), trials, rng)
    drawn = _accuracy(hits[:, present], sizes[present], draws) - everything[:, None]
    low, high = np.quantile(drawn, [tail_share(confidence), 1 - tail_share(confidence)], axis=1)
    return ClassBootstrap(change, _two_sided(drawn, change), low, high, trials)


def _two_sided(drawn: FloatArray, change: FloatArray) -> FloatArray:
    """Shape (m,): two-sided p-values of ``change`` (m,) among ``drawn`` (m, trials)."""
    beyond = drawn - change[:, None]
    # ties count on both sides, regardless of rounding
    smaller = np.minimum((beyond >= -1e-12).sum(axis=1), (beyond <= 1e-12).sum(axis=1))
    p_values: FloatArray = np.minimum(2 * (1 + smaller) / (1 + drawn.shape[1]), 1.0)
    return p_values


def _by_class(correct: BoolArray, labels: IntArray, class_count: int) -> tuple[IntArray, IntArray]:
    if correct.ndim != 2 or correct.shape[1] != len(labels):
        raise InputError(f"correct must have shape (models, {len(labels)}), got {correct.shape}")
    if len(labels) and not 0 <= labels.min() <= labels.max() < class_count:
        raise InputError(f"every image needs a label from 0 to {class_count - 1}: remove unlabeled images first")
    sizes = np.bincount(labels, minlength=class_count)
    hits = np.stack([np.bincount(labels, weights=row, minlength=class_count) for row in correct])
    return hits.astype(np.int64), sizes


def _random_sets(classes: int, size: int, trials: int, rng: np.random.Generator) -> BoolArray:
    chosen = np.zeros((trials, classes), dtype=bool)
    order = np.argsort(rng.random((trials, classes)), axis=1)[:, :size]
    np.put_along_axis(chosen, order, True, axis=1)
    return chosen


def _accuracy(hits: IntArray, sizes: IntArray, sets: BoolArray) -> FloatArray:
    """Shape (m, sets): accuracy of each model over the images of each set of classes."""
    return (hits @ sets.T) / (sets @ sizes)
