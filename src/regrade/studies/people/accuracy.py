"""The accuracy of each person and model on each subset of the same images, and the change to all images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from regrade.core import ClassSpace, Estimate, InputError
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.stats import (
    bonferroni_confidence,
    class_bootstrap,
    clustered_proportion,
    mark_simultaneous,
    proportion,
    wilson,
)
from regrade.stats.intervals import method_name

DEFAULT_SUBSETS = ("without dogs", "objects", "organisms")
"""The subsets of Shankar et al. 2020, by the group of an image's original label."""


@dataclass(frozen=True, eq=False)
class Subset:
    """A subset ``inside`` (n,) of the images; ``classes`` are the classes that define it, None if it has none."""

    name: str
    inside: BoolArray
    classes: IntArray | None = None

    @property
    def images(self) -> int:
        """The number of images in the subset."""
        return int(self.inside.sum())


def class_subsets(space: ClassSpace, labels: IntArray, names: Sequence[str] | None) -> list[Subset]:
    """Images by the group of their original label (n,): ``objects``, or all but a group: ``not dogs``.

    Without names, the default subsets are used whose groups the class space has and that are not empty. An unknown
    group or a named subset that is empty raises.
    """
    if names is None:
        names = [name for name in DEFAULT_SUBSETS if (space.complemented(name) or name) in space.groups]
        return [subset for name in names if (subset := _class_subset(space, labels, name)).images]
    subsets = [_class_subset(space, labels, name) for name in names]
    if empty := next((subset for subset in subsets if not subset.images), None):
        raise InputError(f"no image is in the subset {empty.name!r}")
    return subsets


def fast_subset(seconds: FloatArray, limit: float) -> Subset:
    """Images (n,) on which the median person spent at most ``limit`` seconds; NaN is not fast."""
    return Subset(f"fast (at most {limit:g} s)", seconds <= limit)


def _class_subset(space: ClassSpace, labels: IntArray, name: str) -> Subset:
    classes = space.group(name)
    return Subset(name, np.isin(labels, classes), classes)


MEAN = "mean of people"
"""The name of the row with the mean of all people."""

TRIALS = 1000
"""The number of random sets of classes that a subset is compared with."""


class Contender(Enum):
    """Whose accuracy a row shows."""

    PERSON = "person"
    MODEL = "model"
    MEAN = "people"


@dataclass(frozen=True)
class Chance:
    """The change of accuracy on random sets of as many classes (class bootstrap, Shankar et al. 2020).

    It ranges from ``low`` to ``high``; ``p_value`` is the two-sided p-value of the subset's change.
    """

    low: float
    high: float
    p_value: float


@dataclass(frozen=True)
class PeopleRow:
    """One person or model, or the mean of people, on one subset of the images.

    ``change`` is the accuracy on the subset minus that on all images; None if the subset is all images. ``chance`` is
    defined for subsets made of classes.
    """

    who: str
    kind: Contender
    subset: str
    accuracy: Estimate
    change: Estimate | None = None
    chance: Chance | None = None


@dataclass(frozen=True, eq=False)
class CorrectnessTable:
    """People and models on the same images: ``correct`` (m, n), ``is_person`` (m,), original labels (n,).

    The intervals of a person or model are simultaneous for ``subsets`` subsets.
    """

    names: tuple[str, ...]
    is_person: BoolArray
    correct: BoolArray
    labels: IntArray
    class_count: int
    confidence: float
    subsets: int = 1

    def rows(self, subset: Subset, rng: np.random.Generator) -> Iterator[PeopleRow]:
        """All people and models on one subset; with two or more people, their mean comes last."""
        chances = self._chances(self.correct, self.labels, subset, rng)
        for name, person, right, chance in zip(self.names, self.is_person, self.correct, chances, strict=True):
            yield self._row(name, Contender.PERSON if person else Contender.MODEL, right[None], subset, chance)
        people = self.correct[self.is_person]
        if len(people) > 1 and subset.images > 1:
            together, labels = people.reshape(1, -1), np.tile(self.labels, len(people))
            yield self._row(MEAN, Contender.MEAN, people, subset, self._chances(together, labels, subset, rng)[0])

    def _row(self, who: str, kind: Contender, right: BoolArray, subset: Subset, chance: Chance | None) -> PeopleRow:
        if subset.inside.all():
            return PeopleRow(who, kind, subset.name, self._accuracy(right), None, chance)
        each = replace(self, confidence=bonferroni_confidence(self.subsets, self.confidence))
        accuracy, change = (
            mark_simultaneous(estimate, self.subsets, confidence=self.confidence)
            for estimate in (each._accuracy(right[:, subset.inside]), each._change(right, subset.inside))
        )
        return PeopleRow(who, kind, subset.name, accuracy, change, chance)

    def _accuracy(self, right: BoolArray) -> Estimate:
        """The accuracy of one row, with an exact interval; of several rows their mean, with images as clusters."""
        if len(right) == 1:
            return proportion(int(right.sum()), right.size, confidence=self.confidence)
        images = np.tile(np.arange(right.shape[1]), len(right))
        mean = clustered_proportion(right.ravel(), images, confidence=self.confidence)[0]
        return replace(mean, n=right.shape[1])

    def _change(self, right: BoolArray, inside: BoolArray) -> Estimate:
        """The accuracy inside minus that on all images: the difference to the rest, times the share of the rest.

        Inside and rest are disjoint, so their errors combine as independent ones (Newcombe 1998).
        """
        subset, rest = (self._share(right[:, part]) for part in (inside, ~inside))
        weight = float((~inside).mean())
        value = weight * (subset.value - rest.value)
        low = value - weight * float(np.hypot(subset.value - subset.low, rest.high - rest.value))
        high = value + weight * float(np.hypot(subset.high - subset.value, rest.value - rest.low))
        return Estimate(value, low, high, len(inside), method_name("square and add", self.confidence))

    def _share(self, right: BoolArray) -> Estimate:
        if len(right) == 1 or right.shape[1] == 1:
            return proportion(int(right.sum()), right.size, confidence=self.confidence, method=wilson)
        return self._accuracy(right)

    def _chances(
        self, correct: BoolArray, labels: IntArray, subset: Subset, rng: np.random.Generator
    ) -> list[Chance | None]:
        """For each row (n,) the changes on random sets of classes, over the images with an original label."""
        if subset.classes is None or subset.inside.all():
            return [None] * len(correct)
        labeled = labels >= 0
        bootstrap = class_bootstrap(
            correct[:, labeled],
            labels[labeled],
            subset.classes,
            class_count=self.class_count,
            rng=rng,
            trials=TRIALS,
            confidence=self.confidence,
        )
        columns = (bootstrap.low.tolist(), bootstrap.high.tolist(), bootstrap.p_value.tolist())
        return [Chance(*row) for row in zip(*columns, strict=True)]
