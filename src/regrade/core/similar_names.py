"""Detect names that people cannot distinguish."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from regrade.core.errors import InputError

_NOT_SEEN = (
    "Cc",
    "Cf",
    "Zl",
    "Zp",
    "Zs",
)  # Unicode categories: control and format characters, line and paragraph separators, spaces


def comparable_name(name: str) -> str:
    """A name normalized for comparison: NFKC, without case, spaces and invisible characters.

    >>> comparable_name("Ada Lovelace") == comparable_name("ADA lovelace" + chr(0x200B))
    True
    >>> comparable_name("Zoe") == comparable_name("Zoë")
    False
    """
    folded = unicodedata.normalize("NFKC", name).casefold()
    visible = "".join(letter for letter in folded if unicodedata.category(letter) not in _NOT_SEEN)
    return unicodedata.normalize("NFKC", visible)


def check_distinct_names(kind: str, names: Iterable[str], taken: Iterable[str] = ()) -> None:
    """Raise if a new name has no visible character, or cannot be distinguished from another name.

    Names in ``taken`` are stored already, and are accepted.
    """
    stored = {name: comparable_name(name) for name in taken}
    name_of = {comparable: name for name, comparable in stored.items()}
    for name in names:
        if name in stored:
            continue
        comparable = comparable_name(name)
        if not comparable:
            raise InputError(f"the {kind} name {name!a} has no visible character")
        same = name_of.setdefault(comparable, name)
        if same != name:
            raise InputError(
                f"the {kind} names {same!r} and {name!r} differ only in case, spaces or invisible "
                "characters: use the same name, or one that can be distinguished"
            )
