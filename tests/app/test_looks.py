"""How pages look: legible in light and dark, nothing wider than a phone, and everything reached by the keyboard."""

import pytest
from browser import CONTRASTS
from desk import ready

PAGES = (
    "/", "/team", "/judge/1", "/label/2", "/explore?set=digits&labels=multi", "/explore/images?set=digits",
    "/explore/image?set=digits&image=0", "/no-such-page",
)  # fmt: skip
"""Pages that no test of their own looks at in this way."""

NAMELESS = """() => [...document.querySelectorAll("input:not([type=hidden]), select, textarea, button, a[href]")]
  .filter(one => one.checkVisibility() && !(one.labels?.length || one.getAttribute("aria-label")
    || one.textContent.trim() || one.querySelector("img[alt]:not([alt=''])") || one.title))
  .map(one => one.outerHTML.slice(0, 100))"""
"""What can be used and has no name."""


@pytest.fixture
def every_page(workspace, judge_queue, server, page_of):  # noqa: ARG001
    """Opens every page in one window, one after the other."""
    workspace.queue_labels("digits", size=5, mode="training")

    def opened(**how):
        page = page_of(server, "Olga", **how)
        for path in PAGES:
            page.goto(path)
            page.wait_for_load_state("networkidle")
            yield path, page

    return opened


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_the_contrast_that_wcag_aa_asks_for(every_page, scheme):
    for path, page in every_page(scheme=scheme):
        assert [one for one in page.evaluate(CONTRASTS) if one["ratio"] < one["needed"]] == [], path


def test_nothing_is_wider_than_a_phone_and_everything_has_a_name(every_page):
    for path, page in every_page(width=360, height=740):
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 360, path
        assert page.evaluate(NAMELESS) == [], path


@pytest.mark.usefixtures("judge_queue")
def test_the_keyboard_reaches_everything_in_order(server, page_of):
    page = page_of(server, "Olga")
    page.goto("/judge/1")
    ready(page)
    names = []
    for _ in range(16):
        page.keyboard.press("Tab")
        names.append(page.evaluate("() => document.activeElement.textContent.trim().replace(/\\s+/g, ' ')"))
    assert names[:2] == ["Skip to the content", "regrade"]
    answers = ["C Correct", "W Wrong", "U Unclear", "P Problematic", "Z Undo"]
    assert [name for name in names if name in answers] == answers
