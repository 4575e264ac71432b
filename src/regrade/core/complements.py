"""Complements of slices: ``not dogs`` is every image that is labeled, and is no dog."""

from __future__ import annotations

_PREFIXES = ("not ", "without ")


def complemented(name: str) -> str | None:
    """The slice or class group that a name is the complement of; None if it is not written as a complement.

    >>> complemented("not dogs"), complemented("without dogs"), complemented("dogs")
    ('dogs', 'dogs', None)
    """
    for prefix in _PREFIXES:
        rest = name.removeprefix(prefix).strip()
        if rest and name.startswith(prefix):
            return rest
    return None
