"""The hard set: the images with the highest confusion scores, chosen without labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regrade.core import UNLABELED, InputError, SliceSet, TestSet, UndefinedError
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.record import Record

_DEFAULT_SHARE = 10  # default: the hardest 1 / 10 of the images


@dataclass(frozen=True)
class HardRule:
    """Which images are hard: those with a score of at least ``above``, or the ``hardest`` N, overall or per class.

    Default: the hardest tenth.
    """

    above: float | None = None
    hardest: int | None = None
    per_class: bool = False

    def __post_init__(self) -> None:
        if self.above is not None and self.hardest is not None:
            raise InputError("hard images are those above a score or the hardest N: give only one of the two")
        if self.per_class and self.hardest is None:
            raise InputError("per class needs the number of hardest images of each class")
        if self.hardest is not None and self.hardest < 1:
            raise InputError(f"a hard set needs at least one image, got {self.hardest}")


@dataclass(frozen=True, eq=False)
class HardSet(Record):
    """The hard images of a test set (``inside`` (n,)), and the rule as text."""

    test_set: str
    inside: BoolArray
    rule: str

    def json_fields(self) -> dict[str, Any]:
        """The rule, and the positions of the hard images in the test set."""
        return {"rule": self.rule, "images": self.images, "places": np.flatnonzero(self.inside)}

    @property
    def images(self) -> int:
        """Number of hard images."""
        return int(self.inside.sum())

    def as_slices(self, name: str) -> SliceSet:
        """Return the hard images as a slice of their test set."""
        return SliceSet(name, self.test_set, len(self.inside), {name: self.inside}, origin=self.rule, chosen_hard=True)

    def as_test_set(self, test_set: TestSet, name: str) -> TestSet:
        """Return the hard images as a separate test set, with their labels and groups."""
        places = np.flatnonzero(self.inside)
        return replace(
            test_set,
            name=name,
            ids=tuple(test_set.ids[place] for place in places.tolist()),
            labels=test_set.labels[places],
            groups={column: tuple(values[i] for i in places.tolist()) for column, values in test_set.groups.items()},
            slice_sets=(),
        )


def hard_set(test_set: TestSet, scores: FloatArray, predictions: IntArray, rule: HardRule, *, unit: str) -> HardSet:
    """Choose the hard images by their scores (n,); ties go to the earlier image.

    The class of an image is its label or, without one, the ensemble's final prediction (``predictions`` (n,)). Raises
    if the rule selects no image, or all of them.
    """
    order = np.argsort(-scores, kind="stable")
    if rule.above is not None:
        inside = scores >= rule.above
        words = f"images with a score of {rule.above:g} {unit} or more"
    elif rule.per_class:
        inside = _hardest_of_each(order, np.where(test_set.labels == UNLABELED, predictions, test_set.labels), rule)
        words = f"the hardest {amount(rule.hardest or 0, 'image')} of each class"
    else:
        count = rule.hardest or max(1, len(scores) // _DEFAULT_SHARE)
        inside = np.zeros(len(scores), dtype=bool)
        inside[order[:count]] = True
        words = f"the hardest {amount(count, 'image')}" if rule.hardest else "the hardest tenth of the images"
    if not inside.any() or inside.all():
        which = "no image" if not inside.any() else "every image"
        raise UndefinedError(
            f"{words}: that is {which} of {test_set.name} (scores lie from {scores.min():.3g} to {scores.max():.3g} "
            f"{unit}, {amount(len(scores), 'image')})"
        )
    return HardSet(test_set.name, inside, words)


def _hardest_of_each(order: IntArray, classes: IntArray, rule: HardRule) -> BoolArray:
    """The first ``rule.hardest`` images of each class in the given order."""
    grouped = order[np.argsort(classes[order], kind="stable")]
    own = classes[grouped]
    begins = np.flatnonzero(np.diff(own, prepend=own[0] - 1))
    within = np.arange(len(own)) - np.repeat(begins, np.diff(np.append(begins, len(own))))
    inside = np.zeros(len(own), dtype=bool)
    inside[grouped[within < (rule.hardest or 0)]] = True
    return inside
