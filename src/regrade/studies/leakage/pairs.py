"""The pairs that people are to judge: each once, whatever found it, the nearest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regrade.core import UNLABELED, Distance, NearPairs, TestSet
from regrade.core.arrays import BoolArray, IntArray


@dataclass(frozen=True)
class LeakedPair:
    """Two images that are alike: ids, names of their labels (empty where there is none), and how far apart they are.

    ``differs`` says whether their labels do, none where either has none. ``distances`` are those that found the pair,
    and ``closeness`` the mean of all that were asked but exactness, in units of their cuts, 1 for one that did not
    find it: 0 is nearest. ``mirrored`` says that it is the mirror image that is so near. ``positions`` are in the two
    sets.
    """

    image: str
    reference: str
    label: str
    reference_label: str
    differs: bool | None
    mirrored: bool
    closeness: float
    distances: Mapping[str, float]
    positions: tuple[int, int]

    def as_dict(self) -> dict[str, Any]:
        """The pair, ready for JSON."""
        fields = {key: value for key, value in vars(self).items() if key != "positions"}
        return {**fields, "distances": {**self.distances}}


def leaked_pairs(pairs: Sequence[NearPairs], test_set: TestSet, against: TestSet) -> tuple[LeakedPair, ...]:
    """Each pair that any distance has found, the nearest first, of equally near ones in the order of the set."""
    cuts = {one.distance.value: one.cut for one in pairs}
    found: dict[tuple[int, int], dict[str, tuple[float, bool]]] = {}
    for one in pairs:
        columns = (one.first, one.second, one.values, one.mirrored)
        for i, j, value, mirrored in zip(*(column.tolist() for column in columns), strict=True):
            found.setdefault((i, j), {})[one.distance.value] = (value, mirrored)
    places = np.array(list(found), dtype=np.int64).reshape(-1, 2)
    both, differ = labels_differ(places[:, 0], places[:, 1], test_set, against)
    disputed = (bool(two) if one else None for one, two in zip(both, differ, strict=True))
    listed = [
        _pair(place, by, cuts, test_set, against, differs=differs)
        for (place, by), differs in zip(found.items(), disputed, strict=True)
    ]
    return tuple(
        sorted(listed, key=lambda pair: (pair.closeness, Distance.EXACT.value not in pair.distances, pair.positions))
    )


def labels_differ(
    first: IntArray, second: IntArray, test_set: TestSet, against: TestSet
) -> tuple[BoolArray, BoolArray]:
    """Shape (p,) twice: which pairs have two labels, and which of these have two different ones, by class id."""
    own, other = test_set.labels[first], _in_classes_of(test_set, against)[second]
    both = (own != UNLABELED) & against.labeled[second]
    return both, both & (own != other)


def _in_classes_of(test_set: TestSet, against: TestSet) -> IntArray:
    """The labels of the other set in the classes of the first; a class that the first has not is none of them."""
    index = test_set.class_space.index_of
    translate = np.array([index.get(name, UNLABELED) for name in against.class_space.ids] + [UNLABELED])
    return translate[against.labels]


def _pair(
    place: tuple[int, int],
    by: Mapping[str, tuple[float, bool]],
    cuts: Mapping[str, float],
    test_set: TestSet,
    against: TestSet,
    *,
    differs: bool | None,
) -> LeakedPair:
    i, j = place
    return LeakedPair(
        test_set.ids[i],
        against.ids[j],
        _label(test_set, i),
        _label(against, j),
        differs,
        all(mirrored for _, mirrored in by.values()),
        _closeness({name: value for name, (value, _) in by.items()}, cuts),
        {name: value for name, (value, _) in by.items()},
        place,
    )


def _closeness(distances: Mapping[str, float], cuts: Mapping[str, float]) -> float:
    """The mean of the distances in units of their cuts; one with a cut of 0 finds only what is the same."""
    if Distance.EXACT.value in distances:
        return 0.0
    asked = {name: cut for name, cut in cuts.items() if name != Distance.EXACT.value}
    return sum(distances[name] / (cut or 1.0) if name in distances else 1.0 for name, cut in asked.items()) / len(asked)


def _label(test_set: TestSet, position: int) -> str:
    label = int(test_set.labels[position])
    return "" if label == UNLABELED else test_set.class_space.names[label]
