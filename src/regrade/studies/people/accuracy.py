"""The accuracy of each person and model on each subset of the same images, and the change to all images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from regrade.core import ClassSpace, Estimate, InputError, TestSet
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.stats import (
    bonferroni_confidence,
    class_bootstrap,
    clustered_share,
    group_shares,
    mark_simultaneous,
    proportion,
    share_difference,
    wilson,
)
from regrade.stats.intervals import method_name
from regrade.studies.image_clusters import mean_credit

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


def class_subsets(test_set: TestSet, labels: IntArray, names: Sequence[str] | None) -> list[Subset]:
    """Images by the group of their original label (n,): ``objects``, or all but a group: ``not dogs``.

    Without names, the default subsets are used whose groups the class space has and that are not empty. An unknown
    group or a named subset that is empty raises.
    """
    space = test_set.class_space
    if names is None:
        names = [name for name in DEFAULT_SUBSETS if (space.complemented(name) or name) in space.groups]
        return [subset for name in names if (subset := _class_subset(space, labels, name)).images]
    subsets = [_class_subset(space, labels, name) for name in names]
    if empty := next((subset for subset in subsets if not subset.images), None):
        raise InputError(f"no image is in the subset {empty.name!r} of {test_set.name}")
    return subsets


def fast_subset(seconds: FloatArray, limit: float) -> Subset:
    """Images (n,) on which the median person spent at most ``limit`` seconds; NaN is not fast."""
    return Subset(f"fast (at most {limit:g} s)", seconds <= limit)


def _class_subset(space: ClassSpace, labels: IntArray, name: str) -> Subset:
    classes = space.group(name)
    return Subset(name, np.isin(labels, classes), classes)


MEAN = "mean of people"
"""The name of the row with the mean of all people."""

LEAD = "mean of people minus mean of models"
"""The name of the row with the lead of people over models, on several test sets."""

TRIALS = 1000
"""The number of random sets of classes that a subset is compared with."""


class Contender(Enum):
    """Whose accuracy a row shows; the lead is only shown for several test sets."""

    PERSON = "person"
    MODEL = "model"
    MEAN = "people"
    LEAD = "people minus models"


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

    The intervals of a person or model are simultaneous for ``subsets`` subsets. Images of one of the ``clusters`` (n,)
    are dependent.
    """

    names: tuple[str, ...]
    is_person: BoolArray
    correct: BoolArray
    labels: IntArray
    class_count: int
    confidence: float
    subsets: int = 1
    clusters: IntArray | None = None

    def rows(self, subset: Subset, rng: np.random.Generator) -> Iterator[PeopleRow]:
        """All people and models on one subset; with two or more people, their mean comes last."""
        chances = self._chances(self.correct, self.labels, subset, rng)
        *contenders, last = self.contenders(subset)
        for (who, kind, right), chance in zip([*contenders, last], chances, strict=False):
            yield self._row(who, kind, right, subset, chance)
        if last[1] is Contender.MEAN:
            together, labels = last[2].reshape(1, -1), np.tile(self.labels, len(last[2]))
            yield self._row(*last, subset, self._chances(together, labels, subset, rng)[0])

    def contenders(self, subset: Subset) -> Iterator[tuple[str, Contender, BoolArray]]:
        """All people and models with their correctness (1, n), then the mean of people (p, n) if it is defined."""
        for name, person, right in zip(self.names, self.is_person, self.correct, strict=True):
            yield name, Contender.PERSON if person else Contender.MODEL, right[None]
        people = self.correct[self.is_person]
        if len(people) > 1 and subset.images > 1:
            yield MEAN, Contender.MEAN, people

    def accuracy(self, right: BoolArray, subset: Subset) -> Estimate:
        """The accuracy of one contender on a subset, with the interval that `rows` gives it."""
        clusters = self.clusters_of(subset)
        estimate = accuracy_of(right[:, subset.inside], clusters, confidence=self.level(subset))
        return mark_simultaneous(estimate, self.tests(subset), confidence=self.confidence)

    def clusters_of(self, subset: Subset) -> IntArray | None:
        """The clusters (k,) of the images of a subset; None without clusters."""
        return None if self.clusters is None else self.clusters[subset.inside]

    def tests(self, subset: Subset) -> int:
        """How many intervals of a person or model hold together with that on a subset."""
        return 1 if subset.inside.all() else self.subsets

    def level(self, subset: Subset) -> float:
        """The confidence of one interval, so that those of all subsets hold together."""
        return bonferroni_confidence(self.tests(subset), self.confidence)

    def _row(self, who: str, kind: Contender, right: BoolArray, subset: Subset, chance: Chance | None) -> PeopleRow:
        accuracy = self.accuracy(right, subset)
        if subset.inside.all():
            return PeopleRow(who, kind, subset.name, accuracy, None, chance)
        each = replace(self, confidence=self.level(subset))
        change = mark_simultaneous(each._change(right, subset.inside), self.subsets, confidence=self.confidence)
        return PeopleRow(who, kind, subset.name, accuracy, change, chance)

    def _change(self, right: BoolArray, inside: BoolArray) -> Estimate:
        """The accuracy inside minus that on all images: the difference to the rest, times the share of the rest.

        Inside and rest are disjoint, so their errors combine as independent ones (Newcombe 1998), or, where they share
        clusters, with the correlation of their cluster totals.
        """
        if self.clusters is not None:
            return self._clustered_change(right, inside, self.clusters)
        subset, rest = (self._share(right[:, part]) for part in (inside, ~inside))
        weight = float((~inside).mean())
        value = weight * (subset.value - rest.value)
        low = value - weight * float(np.hypot(subset.value - subset.low, rest.high - rest.value))
        high = value + weight * float(np.hypot(subset.high - subset.value, rest.value - rest.low))
        return Estimate(value, low, high, len(inside), method_name("square and add", self.confidence))

    def _clustered_change(self, right: BoolArray, inside: BoolArray, clusters: IntArray) -> Estimate:
        people = len(right)
        shares = group_shares(right.ravel(), np.tile(inside.astype(np.int64), people), np.tile(clusters, people))
        difference = share_difference(shares, 1, 0, confidence=self.confidence)
        value, low, high = (
            float((~inside).mean()) * part for part in (difference.value, difference.low, difference.high)
        )
        return Estimate(value, low, high, len(inside), difference.method)

    def _share(self, right: BoolArray) -> Estimate:
        if len(right) == 1 or right.shape[1] == 1:
            return proportion(int(right.sum()), right.size, confidence=self.confidence, method=wilson)
        return accuracy_of(right, confidence=self.confidence)

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


def accuracy_of(right: BoolArray, clusters: IntArray | None = None, *, confidence: float) -> Estimate:
    """The accuracy of one row (1, n), with an exact interval; of several rows their mean, with images as clusters.

    With ``clusters`` (n,) of images, the interval is over these.
    """
    if len(right) == 1:
        return mean_credit(right[0], clusters, confidence=confidence)
    members = np.arange(right.shape[1]) if clusters is None else clusters
    mean = clustered_share(right.ravel(), np.tile(members, len(right)), confidence=confidence)
    return replace(mean, n=right.shape[1])
