"""Pairs of near duplicates over all distances, nearest first, for people to judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from regrade.core import UNLABELED, Distance, NearPairs, TestSet
from regrade.core.arrays import BoolArray, IntArray
from regrade.core.panel import PairRelation
from regrade.core.record import NOT_IN_JSON, json_key


@dataclass(frozen=True)
class LeakedPair:
    """Two near-duplicate images: ids, names of their labels (empty without a label), and their distances.

    ``differs`` says whether their labels differ (None if either has no label). ``distances`` are those below their
    thresholds. ``closeness`` is the mean of all distances except the exact one, each divided by its threshold, or 1 for
    a distance above it; 0 is nearest. ``mirrored`` is true if one image matches the mirror image of the other.
    ``positions`` are the indices in the two sets. A pair that is not ``confirmed`` is similar by a hash, features or a
    distance, and its pixels do not show that it is a near duplicate: it does not count. ``decision`` is that of people,
    None without one; people may find duplicates that no distance does.
    """

    image: str
    reference: str
    label: str
    reference_label: str
    differs: bool | None
    mirrored: bool
    closeness: float
    distances: Mapping[str, float]
    positions: tuple[int, int] = field(metadata=NOT_IN_JSON)
    confirmed: bool = True
    decision: str | None = field(default=None, metadata=json_key("decision", only_if_set=True))


@dataclass(frozen=True)
class DecidedPairs:
    """How many pairs people decided to be duplicates and different, and how many near duplicates are undecided.

    Different pairs are not counted as near duplicates; pairs with equal pixels need no decision.
    """

    duplicates: int
    different: int
    undecided: int


Decisions = Mapping[tuple[int, int], PairRelation]
"""What people decided about pairs, by the positions of the two images."""


def with_decisions(near: NearPairs, decisions: Decisions) -> NearPairs:
    """The pairs of a distance without those that people decided to be different; decided duplicates are confirmed."""
    places = zip(near.first.tolist(), near.second.tolist(), strict=True)
    relations = [decisions.get(place) for place in places]
    duplicate, different = (
        np.array([relation is chosen for relation in relations], dtype=bool)
        for chosen in (PairRelation.DUPLICATE, PairRelation.DIFFERENT)
    )
    confirmed = None if near.confirmed is None else near.confirmed | duplicate
    return replace(near, confirmed=confirmed).where(~different)


def decided_pairs(pairs: Sequence[LeakedPair], decisions: Decisions) -> DecidedPairs | None:
    """Count the decisions, and the pairs without one; None if there are no decisions."""
    if not decisions:
        return None
    different = sum(relation is PairRelation.DIFFERENT for relation in decisions.values())
    undecided = sum(pair.decision is None and Distance.EXACT.value not in pair.distances for pair in pairs)
    return DecidedPairs(len(decisions) - different, different, undecided)


def leaked_pairs(
    pairs: Sequence[NearPairs], test_set: TestSet, against: TestSet, decisions: Decisions
) -> tuple[LeakedPair, ...]:
    """Return each pair found by any distance or by people, confirmed ones first, then by closeness and position."""
    thresholds = {near.distance.value: near.cut for near in pairs}
    distances: dict[tuple[int, int], dict[str, tuple[float, bool]]] = {}
    for near in pairs:
        columns = (near.first, near.second, near.values, near.mirrored)
        for i, j, value, mirrored in zip(*(column.tolist() for column in columns), strict=True):
            distances.setdefault((i, j), {})[near.distance.value] = (value, mirrored)
    confirmed = {place for near in pairs for place in _places_of(near.duplicates)}
    for place in sorted(decided_duplicates(decisions)):
        distances.setdefault(place, {})
        confirmed.add(place)
    places = np.array(list(distances), dtype=np.int64).reshape(-1, 2)
    both, differ = labels_differ(places[:, 0], places[:, 1], test_set, against)
    disputed = (bool(different) if labeled else None for labeled, different in zip(both, differ, strict=True))
    listed = [
        replace(
            _pair(place, by, thresholds, test_set, against, differs=differs),
            confirmed=place in confirmed,
            decision=decisions[place].value if place in decisions else None,
        )
        for (place, by), differs in zip(distances.items(), disputed, strict=True)
    ]
    return tuple(
        sorted(
            listed,
            key=lambda pair: (
                not pair.confirmed,
                pair.closeness,
                Distance.EXACT.value not in pair.distances,
                pair.positions,
            ),
        )
    )


def _places_of(near: NearPairs) -> Iterator[tuple[int, int]]:
    return zip(near.first.tolist(), near.second.tolist(), strict=True)


def decided_duplicates(decisions: Decisions) -> list[tuple[int, int]]:
    """The pairs that people decided to be duplicates."""
    return [place for place, relation in decisions.items() if relation is PairRelation.DUPLICATE]


def labels_differ(
    first: IntArray, second: IntArray, test_set: TestSet, against: TestSet
) -> tuple[BoolArray, BoolArray]:
    """Return which pairs (p,) have two labels, and which of these have different ones, by class id."""
    first_labels, second_labels = test_set.labels[first], _in_classes_of(test_set, against)[second]
    both = (first_labels != UNLABELED) & against.labeled[second]
    return both, both & (first_labels != second_labels)


def _in_classes_of(test_set: TestSet, against: TestSet) -> IntArray:
    """The labels of the second set as class indices of the first; unlabeled if the first lacks the class."""
    index = test_set.class_space.index_of
    translate = np.array([index.get(name, UNLABELED) for name in against.class_space.ids] + [UNLABELED])
    return translate[against.labels]


def _pair(
    place: tuple[int, int],
    by: Mapping[str, tuple[float, bool]],
    thresholds: Mapping[str, float],
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
        bool(by) and all(mirrored for _, mirrored in by.values()),
        _closeness({name: value for name, (value, _) in by.items()}, thresholds),
        {name: value for name, (value, _) in by.items()},
        place,
    )


def _closeness(distances: Mapping[str, float], thresholds: Mapping[str, float]) -> float:
    """The mean of the distances divided by their thresholds; a threshold of 0 only matches a distance of 0."""
    if Distance.EXACT.value in distances:
        return 0.0
    inexact = {name: threshold for name, threshold in thresholds.items() if name != Distance.EXACT.value}
    ratios = [distances[name] / (limit or 1.0) if name in distances else 1.0 for name, limit in inexact.items()]
    return sum(ratios) / len(inexact) if ratios else 1.0


def _label(test_set: TestSet, position: int) -> str:
    label = int(test_set.labels[position])
    return "" if label == UNLABELED else test_set.class_space.names[label]
