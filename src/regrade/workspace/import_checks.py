"""Plausibility of imported predictions: their accuracy compared with chance, and with a shift of the class indices."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy

from regrade.core import TestSet
from regrade.core.arrays import BoolArray, IntArray
from regrade.metrics import FALSE_ALARMS, looks_reversed

_RARE = 1e-4  # probability at most of a false hint at a shift
_UNLIKELY = 0.05  # probability at most that an unrelated column is taken for a model
_FEWEST = 30  # labeled images from which a low accuracy is suspicious


@dataclass(frozen=True)
class AccuracyCheck:
    """Top-1 accuracy on the labeled images, compared with chance and with shifted class indices.

    ``chance`` is the accuracy expected if predictions and labels were independent, given how often each class occurs in
    both. ``shift`` is -1 or 1 if adding it to the predicted indices gives a much higher accuracy,
    ``shifted_accuracy``; it is 0 otherwise. ``last_column`` is the accuracy of the last column of classes if the
    columns look reversed.
    """

    images: int
    accuracy: float
    chance: float
    shift: int = 0
    shifted_accuracy: float = 0.0
    last_column: float | None = None

    @property
    def above_chance(self) -> bool:
        """Whether so many correct predictions are unlikely (5 %) if predictions and labels are independent."""
        return _tail(self.images, self.accuracy, self.chance) <= _UNLIKELY

    @property
    def enough_images(self) -> bool:
        """Whether there are enough labeled images to tell predictions from unrelated numbers."""
        return self.images >= _FEWEST

    @property
    def hint(self) -> str:
        """What is suspicious about the accuracy; empty if nothing is."""
        if self.shift:
            base = "one-based" if self.shift < 0 else "too low by one"
            shifted = f"{_percent(self.shifted_accuracy)} if {self.shift:+d} is added to each class index"
            return f"top-1 accuracy is {_percent(self.accuracy)}, but {shifted}: the indices look {base}"
        if self.last_column is not None:
            last = f"{_percent(self.last_column)} with the last column, more than with each of the others"
            return (
                f"top-1 accuracy is {_percent(self.accuracy)}, but {last}: the columns look reversed, worst class "
                f"first (a false alarm for at most 1 of {1 / FALSE_ALARMS:,.0f} models); give --reversed MODEL"
            )
        if self.enough_images and not self.above_chance:
            chance = f"not above the {_percent(self.chance)} expected by chance"
            return f"top-1 accuracy is {_percent(self.accuracy)}, {chance}: check the order of the rows and the classes"
        return ""


def check_columns(classes: IntArray, test_set: TestSet, *, covered: BoolArray | None = None) -> AccuracyCheck | None:
    """Check the columns of best classes (n, k), the best first: the accuracy of the first one, and their order.

    ``covered`` (n,) are the images with predictions (default: all).
    """
    check = check_accuracy(classes[:, 0], test_set, covered=covered)
    labeled = test_set.labeled if covered is None else test_set.labeled & covered
    labels, columns = test_set.labels[labeled], classes[labeled]
    if check is None or check.shift or not looks_reversed(columns, labels):
        return check
    return replace(check, last_column=float(np.mean(columns[:, -1] == labels)))


def check_accuracy(predicted: IntArray, test_set: TestSet, *, covered: BoolArray | None = None) -> AccuracyCheck | None:
    """Check predicted classes (n,) in the class space and order of a test set; None if none of the images has a label.

    ``covered`` (n,) are the images with predictions (default: all).
    """
    labeled = test_set.labeled if covered is None else test_set.labeled & covered
    labels, classes = test_set.labels[labeled], predicted[labeled]
    if not labels.size:
        return None
    accuracy = float(np.mean(classes == labels))
    chance = _independent_agreement(classes, labels, len(test_set.class_space))
    rates = {shift: float(np.mean(classes + shift == labels)) for shift in (-1, 1)}
    shift = max(rates, key=lambda candidate: rates[candidate])
    much_higher = rates[shift] > 2 * accuracy and _tail(labels.size, rates[shift], max(accuracy, chance)) <= _RARE
    if much_higher:
        return AccuracyCheck(labels.size, accuracy, chance, shift, rates[shift])
    return AccuracyCheck(labels.size, accuracy, chance)


def _independent_agreement(classes: IntArray, labels: IntArray, count: int) -> float:
    """The expected agreement of independent classes and labels with these frequencies, as in Cohen's kappa."""
    predicted = np.bincount(classes[classes >= 0], minlength=count) / len(labels)
    return float(predicted @ (np.bincount(labels, minlength=count) / len(labels)))


def _tail(images: int, rate: float, chance: float) -> float:
    """The probability of at least this rate of correct predictions by chance."""
    return float(scipy.special.bdtrc(round(rate * images) - 1, images, chance))


def _percent(rate: float) -> str:
    return f"{100 * rate:.1f} %"
