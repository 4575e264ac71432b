"""Rendering of hostile Markdown, and word diffs."""

import re

import pytest
from hostile_markdown import HOSTILE
from hypothesis import given
from hypothesis import strategies as st

from regrade.app.guide_views import render_markdown, word_diff

ALLOWED = {
    "p", "ul", "ol", "li", "strong", "em", "s", "code", "pre", "blockquote", "h3", "h4", "h5", "h6", "hr", "br", "a",
    "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_render_markdown_escapes_hostile_text(text):
    html = render_markdown(text)
    for tag, attributes in re.findall(r"<([a-z0-9]+)((?:\s[^<>]*)?)/?>", html):
        assert tag in ALLOWED, html
        names = set(re.findall(r"([\w-]+)=\"[^\"]*\"", attributes))
        assert names <= {"href", "rel", "target", "title", "class", "style", "start"}, html
    assert all(address.lower().startswith(("http://", "https://")) for address in re.findall(r'href="([^"]*)"', html))


def test_render_markdown_renders_common_markup():
    html = render_markdown(
        "# Big\n\n**Bold** and [a link](https://example.org)\n\n- one\n- two\n\n|a|b|\n|-|-|\n|1|2|\n"
    )
    assert "<h3>Big</h3>" in html
    assert "<strong>Bold</strong>" in html
    assert '<a href="https://example.org" rel="noopener noreferrer nofollow" target="_blank">a link</a>' in html
    assert html.count("<li>") == 2
    assert "<td>1</td>" in html


@given(st.text(alphabet="ab \n", max_size=60), st.text(alphabet="ab \n", max_size=60))
def test_word_diff_contains_both_texts(before, after):
    pieces = word_diff(before, after)
    assert "".join(piece.text for piece in pieces if piece.kind != "added") == before
    assert "".join(piece.text for piece in pieces if piece.kind != "removed") == after
    assert all(piece.text for piece in pieces)


def test_word_diff_compares_words():
    shown = [
        (piece.kind, piece.text) for piece in word_diff("It has no tail.\nEars.\n", "It has a short tail.\nEars.\n")
    ]
    assert shown == [
        ("same", "It has "), ("removed", "no"), ("added", "a short"), ("same", " tail.\nEars.\n"),
    ]  # fmt: skip
