"""Families of classes by the word that people have for them: a group, a superclass, or a concept of the hierarchy."""

from __future__ import annotations

import numpy as np

from regrade.classes.superclasses import superclasses
from regrade.core import ClassSpace, InputError, UnknownName
from regrade.core.arrays import IntArray


def family(space: ClassSpace, name: str) -> IntArray:
    """The classes of a family, ascending; a word in the plural may stand for one in the singular.

    A family is a group of the space, a superclass, a class, or what lies below a concept of its hierarchy, by id or by
    any of its words. A word for several of these raises and tells them apart.

    >>> from regrade.classes import class_space
    >>> len(family(class_space("imagenet-1k"), "terriers"))
    26
    """
    for word in (name, name.removesuffix("s")):
        if (found := _named(space, word)) is not None:
            return found
    kinds = superclasses(space).names
    words = [] if space.hierarchy is None else [word for lemmas in space.hierarchy.lemmas.values() for word in lemmas]
    raise UnknownName(f"family of {space.name}", name, dict.fromkeys([*space.groups, *kinds, *words, *space.ids]))


def _named(space: ClassSpace, word: str) -> IntArray | None:
    try:
        return space.group(word)
    except UnknownName:
        kinds = superclasses(space)
    if word in kinds.names:
        return np.flatnonzero(kinds.members[:, kinds.names.index(word)])
    return _below_word(space, word)


def _below_word(space: ClassSpace, word: str) -> IntArray | None:
    """The classes below the concept that a word is for, if there is any."""
    lemmas = {} if space.hierarchy is None else space.hierarchy.lemmas
    concepts = [one for one, words in lemmas.items() if word.casefold() in (own.casefold() for own in words)]
    below = {one: tuple(space.group(one).tolist()) for one in concepts}
    below = {one: classes for one, classes in below.items() if classes}
    if len(set(below.values())) > 1:
        raise InputError(f"{word!r} is a word for several families: give one of {', '.join(below)}")
    return next((np.array(classes) for classes in below.values()), None)
