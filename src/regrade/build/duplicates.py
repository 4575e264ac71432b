"""Near duplicates of the candidates of a build: which ones they exclude, and whether a drawn set was checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from regrade.build.eligibility import Candidate, Eligibility
from regrade.core import Distance, ImagePair, InputError, PairDecision, PairSearch, TestSet
from regrade.core.amounts import amount
from regrade.core.image_pairs import relation_of
from regrade.core.panel import PairRelation
from regrade.stats import components, representatives
from regrade.store import Store


@dataclass(frozen=True)
class DuplicateReview:
    """The searches of a build for near duplicates of its candidates, and the decisions on pairs by key.

    The targets of the last search hold: a pair counts if one of its distances is within them.
    """

    build: str
    pool: str
    searches: tuple[PairSearch, ...] = ()
    decisions: Mapping[str, PairDecision] = field(default_factory=dict)

    @property
    def targets(self) -> Mapping[str, float]:
        """The largest distance of each kind that needs a decision."""
        return self.searches[-1].targets if self.searches else {}

    @cached_property
    def pairs(self) -> tuple[ImagePair, ...]:
        """All pairs within the targets, each once."""
        pairs = {
            pair.key: pair
            for search in self.searches
            for pair in search.pairs
            if pair.within(self._targets_for(search))
        }
        return tuple(pairs.values())

    def _targets_for(self, search: PairSearch) -> Mapping[str, float]:
        """The targets for the pairs of a search; distances of another model's embeddings have none."""
        if search.model == self.searches[-1].model:
            return self.targets
        return {name: target for name, target in self.targets.items() if not Distance(name).is_by_model}

    def relation(self, pair: ImagePair) -> PairRelation | None:
        """What is known about a pair; equal pixels need no decision."""
        return relation_of(pair, self.decisions)

    def related(self, relation: PairRelation | None) -> list[ImagePair]:
        """The pairs with a relation, or those without a decision."""
        return [pair for pair in self.pairs if self.relation(pair) is relation]

    @property
    def unreviewed(self) -> frozenset[str]:
        """The candidates that are in a pair without a decision."""
        return frozenset(image for pair in self.related(None) for image in self.candidates_of(pair))

    def candidates_of(self, pair: ImagePair) -> list[str]:
        """The images of a pair that are in the pool."""
        return [side.image for side in pair.sides if side.test_set == self.pool]

    @cached_property
    def copies(self) -> frozenset[str]:
        """The candidates that are duplicates of an image outside the pool."""
        owned = [self.candidates_of(pair) for pair in self.related(PairRelation.DUPLICATE)]
        return frozenset(images[0] for images in owned if len(images) == 1)

    @cached_property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """The pairs of candidates that are duplicates of each other."""
        return self._owned(self.related(PairRelation.DUPLICATE))

    @property
    def equal(self) -> tuple[tuple[str, str], ...]:
        """The duplicates among candidates that have equal pixels."""
        return self._owned([pair for pair in self.related(PairRelation.DUPLICATE) if pair.is_exact])

    def _owned(self, pairs: Iterable[ImagePair]) -> tuple[tuple[str, str], ...]:
        owned = [self.candidates_of(pair) for pair in pairs]
        return tuple((images[0], images[1]) for images in owned if len(images) == 2)

    def near_duplicates(self, candidates: Iterable[Candidate], rules: Eligibility) -> frozenset[str]:
        """The candidates that must not be drawn since they are duplicates.

        Duplicates of an image outside the pool are never drawn. Of the other candidates that the ``rules`` allow, those
        are drawn that no better one stands for, by `surplus_candidates`.
        """
        allowed = [c for c in candidates if rules.exclusion(c) is None and c.image not in self.copies]
        return self.copies | surplus_candidates(allowed, self.edges, self.equal)

    def missing_searches(self, images: Sequence[str], reference: str) -> list[str]:
        """Names of the sets with which not all images were compared at the present targets.

        Within the pool, one search must have compared all of them with each other.
        """
        needed, present = set(images), [search for search in self.searches if self._reaches_targets(search)]
        missing = []
        if not any(needed <= set(search.images) for search in present if search.is_within):
            missing.append(self.pool)
        if needed - {image for search in present if search.against == reference for image in search.images}:
            missing.append(reference)
        return missing

    def _reaches_targets(self, search: PairSearch) -> bool:
        return all(search.targets.get(name, -1.0) >= target for name, target in self.targets.items())

    def check(self, images: Sequence[str], *, reference: str, revision: int) -> None:
        """Raise if drawn images were not compared, or have a near duplicate that nobody has decided about."""
        remedy = "freeze it unchecked with --unchecked-duplicates"
        if missing := self.missing_searches(images, reference):
            sets = " and ".join("each other" if name == self.pool else name for name in missing)
            raise InputError(
                f"the images of revision {revision} of {self.build} were not compared with {sets}: run regrade build "
                f"clean {self.build}, or {remedy}"
            )
        drawn = set(images)
        undecided = [pair for pair in self.related(None) if drawn.intersection(self.candidates_of(pair))]
        if undecided:
            nearest = min(undecided, key=lambda pair: (pair.closeness(self.targets), pair.key))
            raise InputError(
                f"{amount(len(undecided), 'pair')} of near duplicates in revision {revision} of {self.build} "
                f"{'is' if len(undecided) == 1 else 'are'} not reviewed, for instance {described(nearest)}: decide in "
                f"the app, run regrade review publish {pair_queue_name(self.build)!r}, or {remedy}"
            )

    def refuse_duplicates(self, images: Sequence[str], *, revision: int) -> None:
        """Raise if drawn images are decided duplicates of each other or of an image outside the pool."""
        drawn = set(images)
        copies = [
            pair
            for pair in self.related(PairRelation.DUPLICATE)
            if drawn.issuperset(owned := self.candidates_of(pair)) and owned
        ]
        if copies:
            raise InputError(
                f"revision {revision} of {self.build} contains {amount(len(copies), 'near duplicate')}, for instance "
                f"{described(copies[0])}: draw the next revision with regrade build sample {self.build} --from "
                f"{revision}"
            )

    def summary(self, images: Sequence[str], reference: str) -> DuplicateCheck:
        """What was compared and decided, for the release of these images."""
        drawn = set(images)
        unreviewed = drawn & self.unreviewed
        duplicates, different = (self.related(relation) for relation in PairRelation)
        return DuplicateCheck(
            not self.missing_searches(images, reference) and not unreviewed,
            tuple(dict.fromkeys(search.against for search in self.searches)),
            dict(self.targets),
            max((search.neighbors for search in self.searches), default=0),
            self.searches[-1].model if self.searches else "",
            len(self.pairs),
            sum(pair.is_exact for pair in self.pairs),
            sum(pair.key in self.decisions for pair in duplicates),
            len(different),
            len(unreviewed),
        )


@dataclass(frozen=True)
class DuplicateCheck:
    """How a released set was checked for duplicates: the sets compared, the targets, and the number of pairs.

    ``exact`` pairs have equal pixels; people decided that ``duplicates`` are, and that others are ``different``.
    ``unreviewed`` images of the set have a near duplicate that nobody has decided about.
    """

    checked: bool
    sets: tuple[str, ...]
    targets: Mapping[str, float]
    neighbors: int
    model: str
    pairs: int
    exact: int
    duplicates: int
    different: int
    unreviewed: int

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> DuplicateCheck:
        """The record from the content of a file."""
        targets = {str(name): float(target) for name, target in dict(content["targets"]).items()}
        return cls(**{**content, "sets": tuple(map(str, content["sets"])), "targets": targets})


def surplus_candidates(
    candidates: Iterable[Candidate], edges: Iterable[tuple[str, str]], equal: Iterable[tuple[str, str]] = ()
) -> frozenset[str]:
    """The images that are not kept: each is a duplicate of a better image that is kept, by `representatives`.

    The image with the highest selection frequency is the best; of equal ones that with the most answers, then the first
    by id. Images connected by ``equal`` pixels count as one. ``edges`` to images that are not candidates are ignored.
    """
    best: dict[str, tuple[float, int, str]] = {}
    for candidate in candidates:
        rank = (-candidate.frequency, -candidate.assignments, candidate.image)
        best[candidate.image] = min(rank, best.get(candidate.image, rank))
    images = sorted(best, key=lambda image: best[image])
    place = {image: number for number, image in enumerate(images)}
    alike, same = (
        np.array([(place[a], place[b]) for a, b in pairs if a in place and b in place], dtype=np.int64).reshape(-1, 2)
        for pairs in (edges, equal)
    )
    groups = components(same[:, 0], same[:, 1], len(images))
    kept = representatives(groups, alike[:, 0], alike[:, 1], -np.arange(len(images)))
    return frozenset(image for row, image in enumerate(images) if kept[row] != row)


def described(pair: ImagePair) -> str:
    """The two images and their distances, for messages."""
    distances = ", ".join(f"{name} {value:.4g}" for name, value in pair.distances.items())
    return f"{pair.first.image!r} and {pair.second.image!r} of {pair.second.test_set} ({distances})"


def pair_queue_name(build: str) -> str:
    """The name of the queue with the pairs of a build."""
    return f"{build} pairs"


def load_duplicates(store: Store, build: str, pool: TestSet) -> DuplicateReview:
    """The searches of a build and the decisions on their pairs; searches of sets that changed since are left out."""
    searches = [
        search
        for search in store.pair_searches.read(pool.name)
        if search.build == build and search.test_set_digest == pool.digest and _is_unchanged(store, search)
    ]
    names = dict.fromkeys(search.against for search in searches if store.test_sets.has(search.against))
    sets = [pool, *(store.test_set(name) for name in names)]
    return DuplicateReview(build, pool.name, tuple(searches), store.pair_decisions.standing(sets))


def _is_unchanged(store: Store, search: PairSearch) -> bool:
    if not store.test_sets.has(search.against):
        return True
    return store.test_sets.read(search.against).digest == search.against_digest
