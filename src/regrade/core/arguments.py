"""Validate arguments of the Python interface."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from typing import TypeVar

from regrade.core.errors import InputError, UnknownName

E = TypeVar("E", bound=Enum)


def member(kind: type[E], value: E | str) -> E:
    """The enum member for a value, or the member itself; an unknown value raises an error with suggestions."""
    if isinstance(value, kind):
        return value
    for candidate in kind:
        if candidate.value == value:
            return candidate
    raise UnknownName(_in_words(kind.__name__), str(value), [str(candidate.value) for candidate in kind])


def _in_words(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def refuse_text(names: Sequence[object], what: str) -> None:
    """Raise if a string is given instead of a list of names: it would be read as a list of letters."""
    if isinstance(names, str):
        raise InputError(f"{what} must be a list of names: [{names!r}]")
