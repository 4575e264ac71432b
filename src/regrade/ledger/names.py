"""Validation of the names of people and queues: visible characters only, and no two that look alike."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from regrade.core import AlreadyStored, InputError
from regrade.core.names import comparable_name

_LONGEST = 80  # characters, as in the database columns
_JOINERS = "\u200c\u200d"  # invisible, but part of the spelling of names in Persian, Hindi and other languages
_REFUSED = ("Cc", "Cf", "Cs", "Zl", "Zp")  # control and format characters, surrogates, line separators


def check_name(what: str, name: str) -> None:
    """Raise if the name of a ``what``, such as a person, is empty, too long, or contains invisible characters.

    >>> check_name("person", "Ada Lovelace")
    """
    if not name.strip():
        raise InputError(f"the name of a {what} must not be empty")
    if name != name.strip():
        raise InputError(f"the name of a {what} must not begin or end with a space, got {name!r}")
    if len(name) > _LONGEST:
        raise InputError(f"the name of a {what} may have at most {_LONGEST} characters, got {len(name)}")
    for character in name:
        if unicodedata.category(character) in _REFUSED and character not in _JOINERS:
            raise InputError(
                f"the name of a {what} must not contain the control or invisible character U+{ord(character):04X}, "
                f"got {name!a}"
            )


def check_not_similar(names: Iterable[str], taken: Iterable[str]) -> None:
    """Raise if the name of a new person equals another's or differs only in case, encoding, spaces or joiners."""
    people = {comparable_name(name): name for name in taken}
    for name in names:
        same = people.get(comparable_name(name))
        if same is not None:
            detail = "" if same == name else f", which is too similar to {name!r}"
            raise AlreadyStored(f"there is a person {same!r} already{detail}")
        people[comparable_name(name)] = name
