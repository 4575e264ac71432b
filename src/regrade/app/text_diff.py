"""A word-by-word diff of two texts, for people to read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

_PIECE = re.compile(r"\s+|[^\s]+")
_MAX_PIECES = 4000  # words are compared up to this size; longer changes are shown as a whole


@dataclass(frozen=True)
class TextChange:
    """A piece of text that is unchanged, was added or was removed."""

    kind: Literal["same", "added", "removed"]
    text: str


def word_diff(before: str, after: str) -> tuple[TextChange, ...]:
    """Return the pieces of both texts, in reading order.

    >>> [(change.kind, change.text) for change in word_diff("a red fox", "a gray fox")]
    [('same', 'a '), ('removed', 'red'), ('added', 'gray'), ('same', ' fox')]
    """
    return tuple(_joined(_by_line(before.splitlines(keepends=True), after.splitlines(keepends=True))))


def _by_line(before: list[str], after: list[str]) -> Iterator[TextChange]:
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        old, new = "".join(before[a:b]), "".join(after[c:d])
        if kind == "equal":
            yield TextChange("same", old)
        else:
            yield from _by_word(_PIECE.findall(old), _PIECE.findall(new))


def _by_word(before: list[str], after: list[str]) -> Iterator[TextChange]:
    if len(before) + len(after) > _MAX_PIECES:
        yield TextChange("removed", "".join(before))
        yield TextChange("added", "".join(after))
        return
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            yield TextChange("same", "".join(before[a:b]))
        else:
            yield TextChange("removed", "".join(before[a:b]))
            yield TextChange("added", "".join(after[c:d]))


def _joined(pieces: Iterator[TextChange]) -> Iterator[TextChange]:
    """Join adjacent pieces of the same kind, and drop empty ones."""
    last: TextChange | None = None
    for piece in pieces:
        if not piece.text:
            continue
        if last is not None and last.kind == piece.kind:
            last = TextChange(last.kind, last.text + piece.text)
            continue
        if last is not None:
            yield last
        last = piece
    if last is not None:
        yield last
