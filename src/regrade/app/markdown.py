"""Markdown written by people, rendered as safe HTML: no raw HTML, no images, and links to http(s) addresses only."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

_WEB = re.compile(r"https?://", re.IGNORECASE)
_LOWEST_HEADING = 6
_HEADING_SHIFT = 2  # levels, since the page has headings of its own


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
    html: str = self.renderToken(tokens, place, options, env)
    return html
