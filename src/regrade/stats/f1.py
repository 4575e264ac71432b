"""F1 scores of classes, and their means over classes, with intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.balanced_proportions import FEW_CLASSES, combined_distance, effective_number
from regrade.stats.influence import effective_sizes
from regrade.stats.intervals import (
    Intervals,
    as_counts,
    clopper_pearson,
    exact_bounds,
    method_name,
    tail_share,
)
from regrade.stats.shares_of_groups import GroupShares, group_shares

FEWEST_PER_CLASS = 20
"""With fewer images per class on average, a mean of F1 scores is too low by chance, and its interval does not hold."""


def f1_scores(
    true_positives: ArrayLike, supports: ArrayLike, predictions: ArrayLike, *, confidence: float = 0.95
) -> list[Estimate]:
    """Return the F1 scores of classes with exact intervals, from three counts (c,) per class.

    ``supports`` are the numbers of images with the label, ``predictions`` those of predictions of the class, and
    ``true_positives`` those with both. Among the images with at least one of them, the share with both is J, and F1 is
    2J / (1 + J): the Clopper-Pearson interval of J, given that number of images, becomes that of F1 (Lam et al. 2023).
    ``n`` is that number of images; if it is 0, F1 is undefined and raises.

    >>> print(f1_scores([8], [10], [12])[0])  # 8 of 14
    72.7 [44.8, 90.3]
    """
    both, labeled, predicted = as_counts(true_positives, supports, predictions)
    either = labeled + predicted - both
    if (both > np.minimum(labeled, predicted)).any() or (both < 0).any():
        raise InputError("true positives must lie between 0 and both other counts")
    if (either == 0).any():
        raise UndefinedError("F1 of a class without labels and predictions has no value")
    bounds = _bounds(both, either, confidence)
    name = method_name("clopper-pearson of F1", confidence)
    rows = zip(_f1(both / either), bounds.low, bounds.high, either, strict=True)
    return [Estimate(float(v), float(low), float(high), int(n), name) for v, low, high, n in rows]


def clustered_f1_scores(
    labels: IntArray, predicted: IntArray, clusters: IntArray, *, confidence: float = 0.95
) -> dict[int, Estimate]:
    """Return the F1 score of every class among ``labels`` and ``predicted`` (n,), -1 without a prediction.

    As `f1_scores`, with Korn-Graubard intervals of J over ``clusters`` (n,) of images.
    """
    present, shares = _either(labels, predicted, clusters)
    bounds, name = shares.exact(confidence), method_name("clustered korn-graubard of F1", confidence)
    rows = zip(_f1(shares.values), _f1(bounds.low), _f1(bounds.high), shares.sizes, strict=True)
    scores = [Estimate(float(value), float(low), float(high), int(n), name) for value, low, high, n in rows]
    return dict(zip(present.tolist(), scores, strict=True))


def _either(labels: IntArray, predicted: IntArray, clusters: IntArray) -> tuple[IntArray, GroupShares]:
    """The classes (c,), and the share J of each: of images with label and prediction among those with either."""
    mistaken = (predicted != labels) & (predicted >= 0)
    classes, members = np.unique(np.concatenate([labels, predicted[mistaken]]), return_inverse=True)
    right = np.concatenate([labels == predicted, np.zeros(int(mistaken.sum()), dtype=bool)])
    return classes, group_shares(right, members, np.concatenate([clusters, clusters[mistaken]]))


def macro_f1(
    labels: IntArray, predicted: IntArray, clusters: IntArray | None = None, *, confidence: float = 0.95
) -> Estimate:
    """Return the mean F1 over the classes of ``labels`` (n,), each with the same weight; see `f1_scores`.

    ``predicted`` (n,) are classes, -1 without a prediction. The variance is that of the influence of each image (delta
    method, Takahashi et al. 2022), and at least that of classes with one more right and one more wrong image. The
    interval is that of Clopper and Pearson at the sample size which this variance is worth. If it rests on few classes,
    it is widened as that of `balanced_proportion`. Raises below `FEWEST_PER_CLASS` images per class. Images of one of
    the ``clusters`` (n,) are dependent: the size is divided by their design effect, and so many clusters per class are
    required.

    >>> labels = np.repeat([0, 1], [30, 10])
    >>> print(macro_f1(labels, np.where(np.arange(40) % 10, labels, 1 - labels)))
    87.5 [70.8, 96.5]
    """
    table = _Counts(labels, predicted, clusters)
    weights = np.full(len(table.supports), 1 / len(table.supports))
    estimate = _mean_f1(table, weights, table.influence(weights), confidence)
    if effective_number(table.units) >= FEW_CLASSES:
        return estimate
    below, above = table.combined_distances(weights, confidence)
    low, high = min(estimate.low, estimate.value - below), max(estimate.high, estimate.value + above)
    kind = "widened delta" if table.clusters is None else "widened clustered delta"
    return Estimate(estimate.value, max(low, 0.0), min(high, 1.0), estimate.n, method_name(kind, confidence))


def weighted_f1(
    labels: IntArray, predicted: IntArray, clusters: IntArray | None = None, *, confidence: float = 0.95
) -> Estimate:
    """Return the mean F1 over classes, weighted by their numbers of images; see `macro_f1`."""
    table = _Counts(labels, predicted, clusters)
    weights = table.supports / len(labels)
    influence = table.influence(weights) + table.f1[table.labels] - weights @ table.f1
    return _mean_f1(table, weights, influence, confidence)


class _Counts:
    """Counts (c,) of the classes that are labels, and places (n,) of labels and predictions among them, -1 if none.

    ``units`` (c,) are the images of each class, or its clusters if images come in ``clusters`` (n,).
    """

    def __init__(self, labels: IntArray, predicted: IntArray, clusters: IntArray | None) -> None:
        if labels.shape != predicted.shape or labels.ndim != 1:
            raise InputError(f"labels {labels.shape} and predictions {predicted.shape} must both be (n,)")
        classes, self.labels, self.supports = np.unique(labels, return_inverse=True, return_counts=True)
        is_single = clusters is None or len(np.unique(clusters)) == len(labels)
        self.clusters, self.units = None if is_single else clusters, self.supports
        if self.clusters is not None:
            pairs = np.unique(np.column_stack([self.labels, self.clusters]), axis=0)
            self.units = np.bincount(pairs[:, 0])
        if self.units.sum() < FEWEST_PER_CLASS * max(len(classes), 1):
            what = "images" if self.clusters is None else "clusters of images"
            raise UndefinedError(f"a mean of F1 scores needs {FEWEST_PER_CLASS} {what} per class on average")
        places = np.searchsorted(classes, predicted).clip(max=len(classes) - 1)
        self.predicted = np.where(classes[places] == predicted, places, -1)
        self.both = np.bincount(self.labels[self.labels == self.predicted], minlength=len(classes))
        answered = self.predicted[self.predicted >= 0]
        self.either = self.supports + np.bincount(answered, minlength=len(classes)) - self.both
        self.f1 = _f1(self.both / self.either)

    def influence(self, weights: FloatArray) -> FloatArray:
        """Shape (n,): how much each image adds to the mean with fixed weights, times the number of images."""
        per_unit = len(self.labels) * weights / (self.either + self.both)
        right = 2.0 * (self.labels == self.predicted)
        labeled = per_unit[self.labels] * (right - self.f1[self.labels])
        return labeled - np.where(self.predicted >= 0, (per_unit * self.f1)[self.predicted], 0.0)

    def combined_distances(self, weights: FloatArray, confidence: float) -> tuple[float, float]:
        """The distances of the mean to its bounds that follow from the exact bounds of all classes."""
        if self.clusters is None:
            correlations: FloatArray = np.eye(len(self.f1))
            bounds = _bounds(self.both, self.either, confidence)
        else:
            _, shares = _either(self.labels, self.predicted, self.clusters)
            exact, correlations = shares.exact(confidence), shares.correlations
            bounds = Intervals(_f1(exact.low), _f1(exact.high))
        sides = (weights * (self.f1 - bounds.low), weights * (bounds.high - self.f1))
        return combined_distance(sides[0], correlations), combined_distance(sides[1], correlations)


def _mean_f1(table: _Counts, weights: FloatArray, influence: FloatArray, confidence: float) -> Estimate:
    images, value = len(table.labels), float(np.clip(weights @ table.f1, 0.0, 1.0))
    moved = (table.both + 1) / (table.either + 2)
    least = (weights * 2 / (1 + moved) ** 2) ** 2 * moved * (1 - moved) / table.either
    variance = max(float((influence**2).sum()) / images**2, float(least.sum()))
    size = value * (1 - value) / variance if 0 < value < 1 else 1 / float((weights**2 / table.supports).sum())
    name = "delta"
    if table.clusters is not None:
        name, upper = "clustered delta", 1 - tail_share(confidence)
        size *= float(effective_sizes(influence, table.clusters, upper=upper)[0]) / images
    bounds = exact_bounds(np.array(value * size), np.array(size), confidence=confidence)
    return Estimate(value, float(bounds.low), float(bounds.high), images, method_name(name, confidence))


def _bounds(both: IntArray, either: IntArray, confidence: float) -> Intervals:
    shares = clopper_pearson(both, either, confidence=confidence)
    return Intervals(_f1(shares.low), _f1(shares.high))


def _f1(shares: FloatArray) -> FloatArray:
    """F1 from the share of images with label and prediction among those with either."""
    scores: FloatArray = 2 * shares / (1 + shares)
    return scores
