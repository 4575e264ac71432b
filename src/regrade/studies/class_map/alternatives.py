"""Other maps that one could defend: the first class only, siblings accepted too, and one mapped class left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from regrade.core import ClassMap, InputError


@dataclass(frozen=True)
class NamedMap:
    """A class map with its name in tables, and how it follows from the first map."""

    name: str
    class_map: ClassMap
    rule: str = ""


@dataclass(frozen=True)
class Omission:
    """A map without one of the predicted classes that are accepted for a class; others remain."""

    target: int
    source: int
    class_map: ClassMap


FIRST_ONLY = "first class only"
SIBLINGS = "siblings too"


def systematic_maps(first: ClassMap) -> tuple[NamedMap, ...]:
    """The first class only, and siblings accepted too, as far as they differ from the map."""
    candidates = (
        NamedMap(FIRST_ONLY, first_class_only(first), "of the classes mapped to a class, the first one is accepted"),
        NamedMap(
            SIBLINGS,
            with_siblings(first),
            "also accepts classes with a direct parent in common, unless they are mapped to another class",
        ),
    )
    return tuple(each for each in candidates if each.class_map.digest != first.digest)


def first_class_only(first: ClassMap) -> ClassMap:
    """The map with the first accepted class of each class, in the order of its file."""
    return replace(first, sources=tuple(entry[:1] for entry in first.sources))


def with_siblings(first: ClassMap) -> ClassMap:
    """The map that also accepts classes with a direct parent in common, unless mapped to another class.

    Unchanged if the predicted classes have no hierarchy. A class without a mapped class remains without one.
    """
    hierarchy, ids = first.source.hierarchy, first.source.ids
    if hierarchy is None:
        return first
    parents = [frozenset(hierarchy.parents.get(class_id, ())) for class_id in ids]
    mapped = set(first.mapped.tolist())

    def neighbors(entry: Sequence[int]) -> Iterator[int]:
        above = frozenset().union(*(parents[index] for index in entry))
        return (index for index in range(len(ids)) if parents[index] & above and index not in mapped)

    return replace(first, sources=tuple((*entry, *neighbors(entry)) for entry in first.sources))


def omissions(first: ClassMap) -> tuple[Omission, ...]:
    """Every map without one of two or more predicted classes that are accepted for a class."""
    return tuple(
        Omission(target, left_out, _without(first, target, left_out))
        for target, entry in enumerate(first.sources)
        for left_out in dict.fromkeys(entry)
        if len(set(entry)) > 1
    )


def _without(first: ClassMap, target: int, left_out: int) -> ClassMap:
    entries = list(first.sources)
    entries[target] = tuple(index for index in entries[target] if index != left_out)
    return replace(first, sources=tuple(entries))


def check_maps(first: NamedMap, alternatives: Sequence[NamedMap]) -> None:
    """Raise if a map accepts the same classes as another one."""
    by_digest: dict[str, str] = {}
    for each in (first, *alternatives):
        if (same := by_digest.setdefault(each.class_map.digest, each.name)) != each.name:
            raise InputError(f"{each.name} accepts the same classes as {same}: leave it out")


def ambiguous(class_map: ClassMap) -> int:
    """The number of predicted classes that are accepted for several classes."""
    return int(np.count_nonzero(class_map.accepts.sum(axis=0) > 1))
