"""Names of people and queues: one line that everyone sees alike, and that no one takes for another's."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from regrade.core import AlreadyStored, InputError
from regrade.core.similar_names import comparable_name

_LONGEST = 80  # characters, of the columns in the database
_JOINERS = "\u200c\u200d"  # invisible, and part of the spelling of names in Persian, Hindi and other languages
_REFUSED = ("Cc", "Cf", "Cs", "Zl", "Zp")  # control and format characters, surrogates, separators of lines


def check_name(what: str, name: str) -> None:
    """Raise where a name of ``what``, such as a person, is empty, too long, or has characters that do not show.

    >>> check_name("person", "Ada Lovelace")
    """
    if not name.strip():
        raise InputError(f"a {what} has a name")
    if name != name.strip():
        raise InputError(f"the name of a {what} has no spaces at its beginning or end, got {name!r}")
    if len(name) > _LONGEST:
        raise InputError(f"the name of a {what} has at most {_LONGEST} characters, got {len(name)}")
    for letter in name:
        if unicodedata.category(letter) in _REFUSED and letter not in _JOINERS:
            raise InputError(
                f"the name of a {what} cannot contain the control or invisible character U+{ord(letter):04X}: {name!a}"
            )


def check_not_alike(names: Iterable[str], taken: Iterable[str]) -> None:
    """Raise where a new person's name is that of another, or differs only in case, encoding, spaces or joiners."""
    people = {comparable_name(name): name for name in taken}
    for name in names:
        same = people.get(comparable_name(name))
        if same is not None:
            detail = "" if same == name else f", which is too similar to {name!r}"
            raise AlreadyStored(f"someone is called {same!r} already{detail}")
        people[comparable_name(name)] = name
