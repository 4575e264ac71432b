"""The text of guide entries: Markdown as safe HTML, and the word-by-word diff of two revisions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from typing import Any, Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

_WEB = re.compile(r"https?://", re.IGNORECASE)
_LOWEST_HEADING = 6
_HEADING_SHIFT = 2  # levels, since the page has headings of its own
_PIECE = re.compile(r"\s+|[^\s]+")
_MAX_PIECES = 4000  # words are compared up to this size; longer changes are shown as a whole


def render_markdown(text: str) -> str:
    r"""Return the text as HTML; markup that is not allowed stays as plain text.

    >>> render_markdown("**bold** <b>")
    '<p><strong>bold</strong> &lt;b&gt;</p>\n'
    """
    reader = _reader()
    tokens = reader.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(_LOWEST_HEADING, int(token.tag[1]) + _HEADING_SHIFT)}"
    html: str = reader.renderer.render(tokens, reader.options, {})
    return html


@cache
def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable(["image"])
    reader.validateLink = _is_web  # type: ignore[method-assign, assignment]
    reader.add_render_rule("link_open", _link)
    return reader


def _is_web(address: str) -> bool:
    return _WEB.match(address.strip()) is not None


def _link(self: Any, tokens: list[Token], place: int, options: Any, env: Any) -> str:
    tokens[place].attrSet("rel", "noopener noreferrer nofollow")
    tokens[place].attrSet("target", "_blank")
    html: str = self.renderToken(tokens, place, options, env)
    return html


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
