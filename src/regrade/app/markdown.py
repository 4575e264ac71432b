"""Markdown that people wrote as HTML that can run nothing: no tags of theirs, no images, links to the web only."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

_WEB = re.compile(r"https?://", re.IGNORECASE)
_LOWEST = 6
_BELOW = 2  # levels that headings go down, since the page has its own


def formatted(text: str) -> str:
    r"""The text as HTML; what is not allowed stays there as it was written.

    >>> formatted("**bold** <b>")
    '<p><strong>bold</strong> &lt;b&gt;</p>\n'
    """
    reader = _reader()
    tokens = reader.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(_LOWEST, int(token.tag[1]) + _BELOW)}"
    found: str = reader.renderer.render(tokens, reader.options, {})
    return found


@lru_cache(maxsize=1)
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
    found: str = self.renderToken(tokens, place, options, env)
    return found
