"""Look up a class by its description: all its words, separated by commas."""

from __future__ import annotations

from regrade.core import ClassSpace, InputError, UnknownName


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
