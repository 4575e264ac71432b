"""Pairs of similar images: the two images, their distances, and what was decided about them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from regrade.core.near_duplicates import Distance
from regrade.core.panel import PairRelation

_KEY_DIGITS = 16


@dataclass(frozen=True, order=True)
class PairSide:
    """One image of a pair: the name of its test set, and its id there."""

    test_set: str
    image: str


def pair_key(first: PairSide, second: PairSide) -> str:
    """The key of a pair, 16 hexadecimal digits; the order of the two images does not matter."""
    sides = [[side.test_set, side.image] for side in sorted((first, second))]
    return hashlib.sha256(json.dumps(sides).encode()).hexdigest()[:_KEY_DIGITS]


@dataclass(frozen=True)
class ImagePair:
    """Two similar images, and their ``distances`` by name as far as they are within their targets.

    ``mirrored`` is true if each distance is to the mirror image of the first.
    """

    first: PairSide
    second: PairSide
    distances: Mapping[str, float]
    mirrored: bool = False

    @cached_property
    def key(self) -> str:
        """The key of the pair."""
        return pair_key(self.first, self.second)

    @property
    def sides(self) -> tuple[PairSide, PairSide]:
        """Both images."""
        return self.first, self.second

    @property
    def is_exact(self) -> bool:
        """Whether the decoded pixels are equal."""
        return Distance.EXACT.value in self.distances

    def within(self, targets: Mapping[str, float]) -> bool:
        """Whether a distance is within its target; equal pixels always are."""
        return self.is_exact or any(value <= targets.get(name, -1.0) for name, value in self.distances.items())

    def closeness(self, targets: Mapping[str, float]) -> float:
        """The smallest distance divided by its target: 0 for equal images, at most 1 within a target."""
        ratios = [value / (targets[name] or 1.0) for name, value in self.distances.items() if name in targets]
        return min(ratios, default=0.0)


@dataclass(frozen=True)
class PairSearch:
    """A search for near duplicates of some ``images`` of a test set in a set ``against``, or among themselves.

    Pairs are listed up to the ``targets``, distances by name, and up to so many ``neighbors`` per image; ``crowded``
    images may have more. ``model`` is the one whose embeddings were compared, and ``build`` the build of a test set
    that the search belongs to, if there is one. Pairs of ``same_source`` were skipped.
    """

    test_set: str
    test_set_digest: str
    against: str
    against_digest: str
    targets: Mapping[str, float]
    neighbors: int
    size: int
    model: str = ""
    build: str = ""
    images: tuple[str, ...] = field(default=(), repr=False)
    pairs: tuple[ImagePair, ...] = field(default=(), repr=False)
    same_source: int = 0
    crowded: int = 0

    @property
    def is_within(self) -> bool:
        """Whether the images were compared among themselves."""
        return self.against == self.test_set

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What was compared and how, without the images and the pairs."""
        names = ("test_set", "test_set_digest", "against", "against_digest", "neighbors", "size", "model", "build")
        return {name: getattr(self, name) for name in names} | {"targets": dict(self.targets)}

    @cached_property
    def question(self) -> str:
        """A hash of what was compared and how: two searches with the same one find the same pairs."""
        return _digest([self.settings, sorted(self.images)])

    @cached_property
    def digest(self) -> str:
        """A hash of the search and its pairs."""
        rows = sorted([pair.key, pair.mirrored, sorted(pair.distances.items())] for pair in self.pairs)
        return _digest([self.question, rows, self.same_source, self.crowded])


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class PairDecision:
    """What a queue decided about a pair, and when (ISO 8601); a ``relation`` of None takes its decision back."""

    first: PairSide
    second: PairSide
    relation: PairRelation | None
    queue: str
    at: str

    @cached_property
    def key(self) -> str:
        """The key of the pair."""
        return pair_key(self.first, self.second)


def standing_decisions(decisions: Iterable[PairDecision]) -> dict[str, PairDecision]:
    """The decision that holds for each pair, by key, from all decisions in the order in which they were stored.

    A later decision replaces those of any queue; one that is taken back gives way to the last one of another queue.
    """
    by_pair: dict[str, dict[str, PairDecision]] = {}
    for decision in decisions:
        of_pair = by_pair.setdefault(decision.key, {})
        of_pair.pop(decision.queue, None)  # a later decision moves to the end
        if decision.relation is not None:
            of_pair[decision.queue] = decision
    return {key: list(of_pair.values())[-1] for key, of_pair in by_pair.items() if of_pair}


def relation_of(pair: ImagePair, decisions: Mapping[str, PairDecision]) -> PairRelation | None:
    """What is known about a pair: the decision of people, otherwise duplicate if the pixels are equal, else None."""
    decision = decisions.get(pair.key)
    if decision is not None:
        return decision.relation
    return PairRelation.DUPLICATE if pair.is_exact else None
