"""What changed between two texts, word by word, for people to read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

_PIECE = re.compile(r"\s+|[^\s]+")
_MOST = 4000  # pieces up to which words are compared; longer changes are shown whole


@dataclass(frozen=True)
class TextChange:
    """A piece of text that is the same in both, was added or was removed."""

    kind: Literal["same", "added", "removed"]
    text: str


def difference(before: str, after: str) -> tuple[TextChange, ...]:
    """The pieces from which both can be read: the first without what was added, the second without what was removed.

    >>> [(one.kind, one.text) for one in difference("a red fox", "a grey fox")]
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
    if len(before) + len(after) > _MOST:
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
    """Neighbors of one kind as one, empty ones left out."""
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
