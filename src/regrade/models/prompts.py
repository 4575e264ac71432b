"""The prompts that describe each class to a zero-shot model."""

from __future__ import annotations

from regrade.core import ClassSpace

TEMPLATES = (
    "a photo of a {}.",
    "a photograph showing a {}.",
    "a close view of a {}.",
    "a {} seen from far away.",
    "a blurry picture of a {}.",
    "a bright picture of a {}.",
    "a dark picture of a {}.",
    "a picture of many {}.",
    "a drawing of a {}.",
    "a {} in its usual surroundings.",
)
"""Prompt templates; a class is the mean of the embeddings of its prompts (Radford et al. 2021, section 3.1.4).

The wording is part of a model's weights: any change of it changes the predictions.
"""


def class_words(space: ClassSpace) -> tuple[str, ...]:
    """One readable name per class: its display name or, if that is the id, its first lemma."""
    words = (
        lemmas[0] if name == class_id else name
        for class_id, name, lemmas in zip(space.ids, space.names, space.lemmas, strict=True)
    )
    return tuple(word.replace("_", " ") for word in words)
