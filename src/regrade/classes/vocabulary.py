"""Concepts around the classes of a class space, for example siblings in WordNet that no class stands for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from regrade.classes.definitions import wordnet_folder
from regrade.classes.families import WORDNET_KINDS
from regrade.core import ClassSpace, Hierarchy, InputError
from regrade.core.arrays import FloatArray


def wordnet_nouns() -> Hierarchy:
    """The nouns of an installed WordNet 3.0: every concept with its parents and words; raises if there is none.

    The folder is that of `definition`. Instances, such as single persons, are left out.
    """
    folder = wordnet_folder()
    if folder is None:
        raise InputError("WordNet 3.0 is not installed: set REGRADE_WORDNET to the folder with its data.noun")
    return parsed_nouns((folder / "data.noun").read_text(encoding="utf-8", errors="replace"))


def parsed_nouns(text: str) -> Hierarchy:
    """The concepts of WordNet's data.noun; lines that begin with a blank are its license."""
    parents, lemmas = {}, {}
    for line in text.splitlines():
        if not line or line.startswith(" "):
            continue
        fields = line.partition(" | ")[0].split()
        count = int(fields[3], 16)
        first = 4 + 2 * count
        pointers = fields[first + 1 : first + 1 + 4 * int(fields[first])]
        above = [f"n{pointers[place + 1]}" for place in range(0, len(pointers), 4) if pointers[place] == "@"]
        if above or not any(symbol == "@i" for symbol in pointers[::4]):
            concept = f"n{fields[0]}"
            parents[concept] = tuple(above)
            lemmas[concept] = tuple(word.replace("_", " ") for word in fields[4:first:2])
    return Hierarchy(parents, lemmas)


def concepts_around(space: ClassSpace, nouns: Hierarchy) -> tuple[str, ...]:
    """The classes, their siblings, and their ancestors up to a superclass: what a text embedding is needed of.

    Classes come first, in order; a class that is not in ``nouns`` raises.
    """
    missing = [class_id for class_id in space.ids if class_id not in nouns.parents]
    if missing:
        raise InputError(f"{len(missing):,} classes of {space.name} are no concepts of WordNet, such as {missing[0]!r}")
    around = Surroundings(nouns)
    concepts = (concept for class_id in space.ids for concept in (*around.siblings(class_id), *around.above(class_id)))
    return tuple(dict.fromkeys([*space.ids, *concepts]))


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Siblings and ancestors of concepts in a hierarchy."""

    hierarchy: Hierarchy

    @cached_property
    def _children(self) -> Mapping[str, list[str]]:
        children: dict[str, list[str]] = defaultdict(list)
        for concept, parents in self.hierarchy.parents.items():
            for parent in parents:
                children[parent].append(concept)
        return children

    def siblings(self, concept: str) -> list[str]:
        """The other concepts with a parent of this one."""
        parents = self.hierarchy.parents.get(concept, ())
        return [child for parent in parents for child in self._children[parent] if child != concept]

    def above(self, concept: str) -> list[str]:
        """The ancestors of a concept up to a superclass of `superclasses`; none without one."""
        tops = set(WORDNET_KINDS.values())
        ancestors = [own for own in self.hierarchy.ancestors(concept) if own != concept]
        return [own for own in ancestors if tops & self.hierarchy.ancestors(own).keys()]


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Concepts with the text embeddings (v, d) of a model, of length 1, and their hierarchy."""

    ids: tuple[str, ...]
    embeddings: FloatArray
    hierarchy: Hierarchy

    @cached_property
    def position_of(self) -> Mapping[str, int]:
        """The row by concept."""
        return {concept: row for row, concept in enumerate(self.ids)}

    def check_classes(self, space: ClassSpace) -> None:
        """Raise if a class has no text embedding."""
        missing = [class_id for class_id in space.ids if class_id not in self.position_of]
        if missing:
            raise InputError(
                f"the vocabulary has no text embedding of {len(missing):,} classes of {space.name}, such as "
                f"{missing[0]!r}: it needs all classes"
            )


def unit_rows(rows: FloatArray) -> FloatArray:
    """Rows scaled to length 1; a row of length 0 stays."""
    values = np.asarray(rows, dtype=np.float32)
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    return values / np.where(lengths > 0, lengths, 1)
