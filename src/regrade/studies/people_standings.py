"""The accuracy of each person and model on each subset of the same images, and what the subset changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from regrade.core import Estimate
from regrade.core.arrays import BoolArray, IntArray
from regrade.stats import (
    bonferroni_confidence,
    class_bootstrap,
    clustered_proportion,
    mark_simultaneous,
    proportion,
    wilson,
)
from regrade.stats.intervals import method_name
from regrade.studies.people_subsets import Subset

MEAN = "mean of people"
"""What the mean of all people is called."""

TRIALS = 1000
"""How many random sets of classes a subset is held against."""


class Contender(Enum):
    """What stands in a row."""

    PERSON = "person"
    MODEL = "model"
    MEAN = "people"


@dataclass(frozen=True)
class Chance:
    """What random sets of as many classes do to an accuracy (class bootstrap, Shankar et al. 2020).

    They change it by ``low`` to ``high``; ``p_value`` is two-sided: how rare a change as large as the subset's is.
    """

    low: float
    high: float
    p_value: float


@dataclass(frozen=True)
class PeopleRow:
    """One person or model, or the mean of people, on one subset of the images.

    ``change`` is the accuracy there less that on all images, none where the subset is all of them; ``chance`` is there
    for subsets that are made of classes.
    """

    who: str
    kind: Contender
    subset: str
    accuracy: Estimate
    change: Estimate | None = None
    chance: Chance | None = None


@dataclass(frozen=True, eq=False)
class CorrectnessTable:
    """Who has which of the same images right: ``correct`` (m, n), ``is_person`` (m,), the images' own labels (n,).

    The intervals of each one on ``subsets`` hold for all of these together.
    """

    names: tuple[str, ...]
    is_person: BoolArray
    correct: BoolArray
    labels: IntArray
    class_count: int
    confidence: float
    subsets: int = 1

    def standings(self, subset: Subset, rng: np.random.Generator) -> Iterator[PeopleRow]:
        """Everyone on one subset, the mean of people last if there are two or more."""
        chances = self._chances(self.correct, self.labels, subset, rng)
        for name, person, right, chance in zip(self.names, self.is_person, self.correct, chances, strict=True):
            yield self._standing(name, Contender.PERSON if person else Contender.MODEL, right[None], subset, chance)
        people = self.correct[self.is_person]
        if len(people) > 1 and subset.images > 1:
            together, labels = people.reshape(1, -1), np.tile(self.labels, len(people))
            yield self._standing(MEAN, Contender.MEAN, people, subset, self._chances(together, labels, subset, rng)[0])

    def _standing(
        self, who: str, kind: Contender, right: BoolArray, subset: Subset, chance: Chance | None
    ) -> PeopleRow:
        if subset.inside.all():
            return PeopleRow(who, kind, subset.name, self._accuracy(right), None, chance)
        each = replace(self, confidence=bonferroni_confidence(self.subsets, self.confidence))
        accuracy, change = (
            mark_simultaneous(estimate, self.subsets, confidence=self.confidence)
            for estimate in (each._accuracy(right[:, subset.inside]), each._change(right, subset.inside))
        )
        return PeopleRow(who, kind, subset.name, accuracy, change, chance)

    def _accuracy(self, right: BoolArray) -> Estimate:
        """Of one row exact; of several, the mean over rows, with images as what varies."""
        if len(right) == 1:
            return proportion(int(right.sum()), right.size, confidence=self.confidence)
        images = np.tile(np.arange(right.shape[1]), len(right))
        found = clustered_proportion(right.ravel(), images, confidence=self.confidence)[0]
        return Estimate(found.value, found.low, found.high, right.shape[1], found.method)

    def _change(self, right: BoolArray, inside: BoolArray) -> Estimate:
        """The accuracy inside less that on all: the difference to the rest, times the share of the rest.

        Inside and the rest are other images, so their errors add up as independent ones do (Newcombe 1998).
        """
        one, rest = (self._share(right[:, part]) for part in (inside, ~inside))
        weight = float((~inside).mean())
        value = weight * (one.value - rest.value)
        low = value - weight * float(np.hypot(one.value - one.low, rest.high - rest.value))
        high = value + weight * float(np.hypot(one.high - one.value, rest.value - rest.low))
        return Estimate(value, low, high, len(inside), method_name("square and add", self.confidence))

    def _share(self, right: BoolArray) -> Estimate:
        if len(right) == 1 or right.shape[1] == 1:
            return proportion(int(right.sum()), right.size, confidence=self.confidence, method=wilson)
        return self._accuracy(right)

    def _chances(
        self, correct: BoolArray, labels: IntArray, subset: Subset, rng: np.random.Generator
    ) -> list[Chance | None]:
        """For each row (n,) what chance does, over the images that have a label of their own."""
        if subset.classes is None or subset.inside.all():
            return [None] * len(correct)
        labeled = labels >= 0
        found = class_bootstrap(
            correct[:, labeled],
            labels[labeled],
            subset.classes,
            class_count=self.class_count,
            rng=rng,
            trials=TRIALS,
            confidence=self.confidence,
        )
        columns = (found.low.tolist(), found.high.tolist(), found.p_value.tolist())
        return [Chance(*row) for row in zip(*columns, strict=True)]
