"""The sentences by which a zero-shot model learns what a class is."""

from __future__ import annotations

from regrade.core import ClassSpace

TEMPLATES = (
    "a photo of a {}.",
    "a photograph showing a {}.",
    "a close view of a {}.",
    "a {} seen from far away.",
    "a blurry image of a {}.",
    "a bright image of a {}.",
    "a dark image of a {}.",
    "a image of many {}.",
    "a drawing of a {}.",
    "a {} in its usual surroundings.",
)
"""The sentences, one class name each; a class is the mean of its sentences' embeddings (Radford et al. 2021, 3.1.4)."""


def class_words(space: ClassSpace) -> tuple[str, ...]:
    """One name a class for people: its display name or, where that is the id, its first word."""
    words = (
        lemmas[0] if name == class_id else name
        for class_id, name, lemmas in zip(space.ids, space.names, space.lemmas, strict=True)
    )
    return tuple(word.replace("_", " ") for word in words)
