"""Look up classes by words: a family by its name, and a class by its description."""

from __future__ import annotations

import numpy as np

from regrade.classes.superclasses import superclasses
from regrade.core import ClassSpace, InputError, UnknownName
from regrade.core.arrays import IntArray


def family(space: ClassSpace, name: str) -> IntArray:
    """The classes of a family, ascending; plural words are also tried in the singular.

    A family is a group of the class space, a superclass, a class, or the classes below a concept of its hierarchy, by
    id or by any of its words. An ambiguous word raises an error that lists the possible concepts.

    >>> from regrade.classes import class_space
    >>> len(family(class_space("imagenet-1k"), "terriers"))
    26
    """
    for word in (name, name.removesuffix("s")):
        if (classes := _named(space, word)) is not None:
            return classes
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
    """The classes below the concept with a word, if there is one."""
    lemmas = {} if space.hierarchy is None else space.hierarchy.lemmas
    concepts = [concept for concept, words in lemmas.items() if word.casefold() in (own.casefold() for own in words)]
    below = {concept: tuple(space.group(concept).tolist()) for concept in concepts}
    below = {concept: classes for concept, classes in below.items() if classes}
    if len(set(below.values())) > 1:
        raise InputError(f"{word!r} is ambiguous: give one of {', '.join(below)}")
    return next((np.array(classes) for classes in below.values()), None)


def class_by_words(space: ClassSpace, words: str) -> int:
    """Return the index of the class with this list of words, as in the class descriptions of ILSVRC.

    The whole list must match, since single words are shared. Unknown and ambiguous descriptions raise.

    >>> from regrade.classes import imagenet_1k
    >>> class_by_words(imagenet_1k(), "laptop, laptop computer")
    620
    """
    matches = [index for index, lemmas in enumerate(space.lemmas) if ", ".join(lemmas) == words]
    if not matches:
        raise UnknownName(f"description of a class of {space.name}", words, [", ".join(own) for own in space.lemmas])
    if len(matches) > 1:
        ids = " or ".join(space.ids[index] for index in matches)
        raise InputError(f"the description {words!r} could mean {ids} of {space.name}")
    return matches[0]
