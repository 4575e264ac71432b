"""Hostile Markdown as text, and what changed between two texts."""

import re

import pytest
from hostile_markdown import HOSTILE
from hypothesis import given
from hypothesis import strategies as st

from regrade.app.difference import difference
from regrade.app.markdown import formatted

ALLOWED = {
    "p", "ul", "ol", "li", "strong", "em", "s", "code", "pre", "blockquote", "h3", "h4", "h5", "h6", "hr", "br", "a",
    "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_hostile_becomes_an_element_or_a_link(text):
    html = formatted(text)
    for tag, attributes in re.findall(r"<([a-z0-9]+)((?:\s[^<>]*)?)/?>", html):
        assert tag in ALLOWED, html
        names = set(re.findall(r"([\w-]+)=\"[^\"]*\"", attributes))
        assert names <= {"href", "rel", "target", "title", "class", "style", "start"}, html
    assert all(address.lower().startswith(("http://", "https://")) for address in re.findall(r'href="([^"]*)"', html))


def test_what_is_meant_well_is_shown_well():
    html = formatted("# Big\n\n**Bold** and [a link](https://example.org)\n\n- one\n- two\n\n|a|b|\n|-|-|\n|1|2|\n")
    assert "<h3>Big</h3>" in html
    assert "<strong>Bold</strong>" in html
    assert '<a href="https://example.org" rel="noopener noreferrer nofollow" target="_blank">a link</a>' in html
    assert html.count("<li>") == 2
    assert "<td>1</td>" in html


@given(st.text(alphabet="ab \n", max_size=60), st.text(alphabet="ab \n", max_size=60))
def test_a_difference_holds_both_texts(before, after):
    pieces = difference(before, after)
    assert "".join(one.text for one in pieces if one.kind != "added") == before
    assert "".join(one.text for one in pieces if one.kind != "removed") == after
    assert all(one.text for one in pieces)


def test_a_difference_is_told_by_words():
    shown = [(one.kind, one.text) for one in difference("It has no tail.\nEars.\n", "It has a short tail.\nEars.\n")]
    assert shown == [
        ("same", "It has "), ("removed", "no"), ("added", "a short"), ("same", " tail.\nEars.\n"),
    ]  # fmt: skip
