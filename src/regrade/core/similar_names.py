"""Names that people would take for the same one."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from regrade.core.errors import InputError

_NOT_SEEN = ("Cc", "Cf", "Zl", "Zp", "Zs")  # control and format characters, separators of lines, spaces


def comparable_name(name: str) -> str:
    """A name as it is compared with others: without case, compatibility forms, spaces and invisible characters.

    >>> comparable_name("Ada Lovelace") == comparable_name("ADA lovelace" + chr(0x200B))
    True
    >>> comparable_name("Zoe") == comparable_name("Zoë")
    False
    """
    folded = unicodedata.normalize("NFKC", name).casefold()
    visible = "".join(letter for letter in folded if unicodedata.category(letter) not in _NOT_SEEN)
    return unicodedata.normalize("NFKC", visible)


def check_distinct_names(kind: str, names: Iterable[str], taken: Iterable[str] = ()) -> None:
    """Raise where a new name has nothing visible, or differs from another in nothing that people see.

    The error names both. Names that are ``taken`` already are not new, and pass.
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
                "characters: use the same name, or one that can be told apart"
            )
