"""Arguments as people give them from Python: checked, and told in one line what is wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from typing import TypeVar

from regrade.core.errors import InputError, UnknownName

E = TypeVar("E", bound=Enum)


def member(kind: type[E], value: E | str) -> E:
    """The member of an enumeration, given as itself or by its value; an unknown value raises with its neighbors."""
    if isinstance(value, kind):
        return value
    for one in kind:
        if one.value == value:
            return one
    raise UnknownName(_in_words(kind.__name__), str(value), [str(one.value) for one in kind])


def _in_words(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def refuse_text(names: Sequence[object], what: str) -> None:
    """Raise where one name was given in place of a list of names: it would be taken letter by letter."""
    if isinstance(names, str):
        raise InputError(f"{what} must be a list of names: [{names!r}]")
