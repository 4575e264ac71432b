"""Which class a written description means: the words for it, all of them, separated by commas."""

from __future__ import annotations

from regrade.core import ClassSpace, InputError, UnknownName


def class_by_words(space: ClassSpace, words: str) -> int:
    """Return the index of the class whose words are these, as ILSVRC's class descriptions list them.

    Only the whole list counts, since single words are shared: an unknown one and one that several classes have raise.

    >>> from regrade.classes import imagenet_1k
    >>> class_by_words(imagenet_1k(), "laptop, laptop computer")
    620
    """
    found = [index for index, lemmas in enumerate(space.lemmas) if ", ".join(lemmas) == words]
    if not found:
        raise UnknownName(f"description of a class of {space.name}", words, [", ".join(own) for own in space.lemmas])
    if len(found) > 1:
        ids = " or ".join(space.ids[index] for index in found)
        raise InputError(f"the description {words!r} could mean {ids} of {space.name}")
    return found[0]
