"""Revisions of a test set under construction: what is new in each, and how the review converges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any


@dataclass(frozen=True)
class Revision:
    """One version of a set: its images with their classes, and how it was drawn."""

    name: str
    examples: frozenset[tuple[str, str]]
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def images(self) -> frozenset[str]:
        """The images, without their classes."""
        return frozenset(image for image, _ in self.examples)


@dataclass(frozen=True)
class RevisionChange:
    """What a revision adds to the one before it, and what it takes away."""

    name: str
    size: int
    added: frozenset[tuple[str, str]]
    removed: frozenset[tuple[str, str]]


def change(before: Revision, after: Revision) -> RevisionChange:
    """The difference between two revisions."""
    return RevisionChange(
        after.name, len(after.examples), after.examples - before.examples, before.examples - after.examples
    )


def convergence(revisions: Sequence[Revision]) -> tuple[RevisionChange, ...]:
    """The changes from each revision to the next: their sizes tend to 0 as the review comes to an end."""
    return tuple(change(before, after) for before, after in pairwise(revisions))


def union(revisions: Iterable[Revision]) -> frozenset[str]:
    """All images of several sets."""
    return frozenset(image for revision in revisions for image in revision.images)
