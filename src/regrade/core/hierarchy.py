"""A hierarchy of concepts above the classes, such as WordNet's hypernyms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from regrade.core.errors import InputError


@dataclass(frozen=True, eq=False)  # compared by identity, so that distances can be cached by it
class Hierarchy:
    """The parents of each concept, in order, and the words for each concept.

    A concept may have several parents (WordNet is not a tree); roots have none.
    """

    parents: Mapping[str, tuple[str, ...]]
    lemmas: Mapping[str, tuple[str, ...]]

    def ancestors(self, concept: str) -> dict[str, int]:
        """All ancestors of a concept, including itself, with the minimum number of steps up to each."""
        steps = {concept: 0}
        frontier = [concept]
        while frontier:
            above = [p for c in frontier for p in self.parents.get(c, ())]
            distance = steps[frontier[0]] + 1
            frontier = [p for p in dict.fromkeys(above) if p not in steps]
            steps.update((p, distance) for p in frontier)
        return steps

    def first_path_ancestors(self, concept: str) -> dict[str, int]:
        """As `ancestors`, but following only the first parent of each concept."""
        steps: dict[str, int] = {}
        while concept not in steps:
            steps[concept] = len(steps)
            concept = next(iter(self.parents.get(concept, ())), concept)
        return steps

    def paths(self, concept: str) -> tuple[tuple[str, ...], ...]:
        """All paths from a root down to the concept, the first parents' path first."""
        return tuple(self._paths(concept, frozenset()))

    def _paths(self, concept: str, below: frozenset[str]) -> list[tuple[str, ...]]:
        if concept in below:
            raise InputError(f"the hierarchy has a cycle through {concept!r}")
        parents = self.parents.get(concept, ())
        if not parents:
            return [(concept,)]
        return [(*path, concept) for p in parents for path in self._paths(p, below | {concept})]
