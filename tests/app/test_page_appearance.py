"""Appearance of pages: contrast in light and dark mode, phone width, and keyboard access."""

import pytest
from panel_votes import cast_votes
from playwright.sync_api import expect
from unsteady_network import JUDGE, Failure
from work_page import faint_texts, ready, saved

from regrade.ledger import Question

PAGES = (
    "/", "/team", "/judge/1", "/label/2", "/explore?set=digits&labels=multi", "/explore/images?set=digits",
    "/explore/image?set=digits&image=0", "/team/proposals", "/no-such-page",
)  # fmt: skip
"""Pages whose appearance is not tested elsewhere."""

NAMELESS = """() => [...document.querySelectorAll("input:not([type=hidden]), select, textarea, button, a[href]")]
  .filter(control => control.checkVisibility() && !(control.labels?.length || control.getAttribute("aria-label")
    || control.textContent.trim() || control.querySelector("img[alt]:not([alt=''])") || control.title))
  .map(control => control.outerHTML.slice(0, 100))"""
"""Controls without an accessible name."""


@pytest.fixture
def every_page(workspace, judge_queue, server, page_of):  # noqa: ARG001
    """Opens the pages one after the other in one window."""
    workspace.review.queue_labels("digits", size=5, mode="training")

    def opened(**how):
        page = page_of(server, "Olga", **how)
        for path in PAGES:
            page.goto(path)
            page.wait_for_load_state("networkidle")
            yield path, page

    return opened


def test_text_has_wcag_aa_contrast(every_page):
    for path, page in every_page():
        assert faint_texts(page) == [], path


def test_pages_fit_a_phone_and_controls_have_names(every_page):
    for path, page in every_page(width=360, height=740):
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 360, path
        assert page.evaluate(NAMELESS) == [], path


@pytest.mark.usefixtures("judge_queue")
def test_keyboard_reaches_all_controls_in_order(server, page_of):
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


def check_looks(page, state):
    """Assert that all texts have contrast, the page fits its window, and all controls have names."""
    assert faint_texts(page) == [], state
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), state
    assert page.evaluate(NAMELESS) == [], state


@pytest.mark.parametrize("width", [360, 1280])
def test_error_pages_are_legible(unsteady, width):
    queue = unsteady.queue(Question.JUDGE, items=2, overlap=2)
    look = {"viewport": {"width": width, "height": 740}}
    unsteady.network.failures = [Failure("^/images/", 404)]
    page = JUDGE.open(unsteady, queue, context=unsteady.context("Rita", **look))
    expect(page.locator("#no-image-reason")).not_to_be_empty()
    check_looks(page, "unreadable image")
    unsteady.network.failures = [Failure("/skip$")]
    page.get_by_role("button", name="Skip", exact=True).click()
    expect(page.locator("#notice")).to_be_visible()
    page.evaluate("import('/static/sending.js').then((sending) => sending.refusal('Not counted: it is decided.'))")
    expect(page.locator("#refusal")).to_be_visible()
    check_looks(page, "notices")
    unsteady.network.steady()
    page.get_by_role("button", name="Skip", exact=True).click()
    item = int(ready(page))
    cast_votes(unsteady.workspace, item, Rob="wrong")
    JUDGE.answer(page, 0)
    saved(page)
    expect(page.get_by_role("heading", name="Only skipped images are left")).to_be_visible()
    check_looks(page, "only skipped images are left")
    page.keyboard.press("z")
    expect(page.locator("#change-reason")).to_be_visible()
    check_looks(page, "reason for a change")
    unsteady.workspace.ledger.reports.add(item, unsteady.workspace.ledger.people.named("Rita"), "half of it is gray")
    team = unsteady.context("Olga", **look).new_page()
    team.goto("/team")
    check_looks(team, "reports on the Team page")
