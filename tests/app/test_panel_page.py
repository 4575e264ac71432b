"""A panel in a real browser: three people vote blind, disagree, discuss, change a vote and lock a decision."""

from functools import partial

import pytest
from judging import comments_on
from panel_votes import cast_votes, open_mistake_queue
from playwright.sync_api import Page, expect
from work_page import answered, faint_texts, item_numbers, ready, saved

from regrade.core.panel import NO_MISTAKE
from regrade.ledger import Question

TRIO = ("Rita", "Rob", "Rose")


@pytest.fixture
def gammas(workspace):
    """Two predictions of gamma that no one has judged, for three people each."""
    return open_mistake_queue(workspace, "novel", Question.JUDGE, count=2, overlap=3)


@pytest.fixture
def mistakes(workspace):
    """Three of gamma's mistakes, for two people each."""
    return open_mistake_queue(workspace, "grave", Question.MISTAKE, count=3, overlap=2, model="gamma")


def shown(page: Page) -> None:
    """Wait until the page has the state of the item and shows its image."""
    expect(page.locator("body[data-version][data-ready]")).to_have_count(1)


def accuracy(workspace) -> float:
    rows = workspace.grade("digits", labels="multi").rows
    return next(row.multilabel.value for row in rows if row.model == "gamma")


def vote_blind(pages: dict[str, Page], address: str, keys: str) -> None:
    """Everyone votes by a key with a reason, and sees no other vote before the last one."""
    for (name, page), key in zip(pages.items(), keys, strict=True):
        page.goto(address)
        shown(page)
        expect(page.locator("#votes-part")).to_be_hidden()
        expect(page.locator("#score")).to_contain_text("by gamma")
        page.keyboard.press(key)
        page.locator("#reason").fill(f"what {name} saw")
        page.keyboard.press("Enter")
        if page is not list(pages.values())[-1]:
            expect(page.locator("#waiting")).to_contain_text("once all have voted")
    for page in pages.values():
        expect(page.locator("#votes li")).to_have_count(3)


def test_three_people_complete_a_panel(workspace, gammas, server, page_of):
    first, _ = item_numbers(workspace, gammas)
    pages = {name: page_of(server, name) for name in TRIO}
    vote_blind(pages, f"/panel/{gammas.id}/{first}", "cww")
    rita, rob, rose = pages.values()
    expect(rob.locator("#votes")).to_contain_text("Rita correct what Rita saw")

    rita.keyboard.press("t")
    rita.keyboard.type("The loop is closed: https://example.org/loops?a=1&b=2. <b>See</b> javascript:alert(1)")
    rita.keyboard.press("Control+Enter")
    comment = rob.locator("#comments .text")
    expect(comment).to_have_text(
        "The loop is closed: https://example.org/loops?a=1&b=2. <b>See</b> javascript:alert(1)"
    )
    link = comment.locator("a")
    expect(link).to_have_count(1)
    expect(link).to_have_attribute("href", "https://example.org/loops?a=1&b=2")
    expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")
    expect(comment.locator("b")).to_have_count(0)

    rose.keyboard.press("t")
    rose.keyboard.type("half a thought")
    rob.keyboard.press("v")
    rob.keyboard.press("c")
    rob.get_by_role("button", name="Change it").click()
    expect(rob.get_by_label("Why do you change it?")).to_be_focused()
    rob.get_by_label("Why do you change it?").fill("Rita has shown me")
    rob.keyboard.press("Enter")
    expect(rose.locator("#votes")).to_contain_text("Rob correct")
    expect(rose.locator("#text")).to_have_value("half a thought")
    rose.get_by_text("Changed votes").click()
    expect(rose.locator("#changes")).to_contain_text("Rob: from wrong to correct. Rita has shown me")

    rita.locator("body").click(position={"x": 5, "y": 5})
    rita.keyboard.press("Escape")
    expect(rita.locator("#votes")).to_contain_text("Rob correct")
    rita.locator("#lock").focus()
    rita.keyboard.press("l")
    expect(rita.locator("#lock-dialog")).to_contain_text("The decision will be correct, by 2 of 3 votes")
    rita.locator("#lock-why").fill("the loop")
    rita.keyboard.press("Enter")
    expect(rita.locator("#decision")).to_contain_text("Decision: correct by majority, locked by Rita")
    expect(rose.locator("#decision")).to_contain_text("Decision: correct")
    expect(rose.locator("#text")).to_have_value("half a thought")

    before = accuracy(workspace)
    workspace.review.publish(gammas.name)
    assert accuracy(workspace) == pytest.approx(before + 1 / 60)


def test_decision_is_reopened_with_a_reason(workspace, gammas, server, page_of):
    first, second = item_numbers(workspace, gammas)
    for item in (first, second):
        cast_votes(workspace, item, Rita="wrong", Rob="wrong", Rose="wrong")
    page = page_of(server, "Rob")
    page.goto(f"/panel/{gammas.id}?show=decided")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/panel/{gammas.id}/{first}?show=decided")
    expect(page.locator("#decision")).to_contain_text("wrong unanimously")
    page.keyboard.press("o")
    page.keyboard.press("Enter")
    expect(page.locator("#reopen-dialog")).to_be_visible()
    page.locator("#reopen-why").fill("there are two digits")
    page.keyboard.press("Enter")
    expect(page.locator("#decision")).to_be_hidden()
    page.get_by_text("Changed votes").click()
    expect(page.locator("#changes")).to_contain_text("Reopened by Rob. there are two digits")
    page.keyboard.press("j")
    page.wait_for_url(f"**/panel/{gammas.id}/{second}?show=decided")
    assert workspace.ledger.decisions.current(first) is None


def test_lost_connection_keeps_votes_and_comments(workspace, gammas, server, context_of):
    first, _ = item_numbers(workspace, gammas)
    cast_votes(workspace, first, Rita="correct", Rob="wrong", Rose="wrong")
    context = context_of(server, "Olga")
    page = context.new_page()
    page.goto(f"/panel/{gammas.id}/{first}")
    shown(page)
    context.set_offline(True)
    page.locator("#text").fill("said in a tunnel")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#notice")).to_contain_text("No connection")
    expect(page.locator("#text")).to_have_value("said in a tunnel")
    page.get_by_role("button", name="Add my vote").click()
    page.keyboard.press("c")
    page.locator("#cast").click()
    expect(page.locator("#notice")).to_contain_text("kept in this browser")
    context.set_offline(False)
    expect(page.locator("#votes")).to_contain_text("Olga correct")
    page.reload()
    shown(page)
    expect(page.locator("#text")).to_have_value("said in a tunnel")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#comments li")).to_have_count(1)
    assert [comment.text for comment in comments_on(workspace.ledger, first)] == ["said in a tunnel"]
    assert len([row for row in workspace.ledger.rows() if row["kind"] == "vote" and row["person"] == "Olga"]) == 1


def test_tie_between_categories_cannot_be_locked(workspace, mistakes, server, page_of):
    first, *_ = item_numbers(workspace, mistakes)
    cast_votes(workspace, first, Rita=("fine-grained", "major"), Rob=("non-prototypical", "minor"))
    page = page_of(server, "Rita")
    page.goto(f"/panel/{mistakes.id}/{first}")
    expect(page.locator("#tie")).to_contain_text("fine-grained and non-prototypical have equally many votes")
    expect(page.locator("#lock")).to_be_disabled()
    page.keyboard.press("v")
    page.keyboard.press("n")
    page.get_by_label("Why do you change it?").fill("it is an odd seven")
    page.keyboard.press("Enter")
    expect(page.locator("#reason")).to_be_focused()
    page.locator("#cast").focus()
    page.keyboard.press("4")
    page.keyboard.press("i")
    page.locator("#cast").click()
    expect(page.locator("#decision")).to_contain_text("Decision: non-prototypical, minor unanimously")


@pytest.mark.usefixtures("mistakes")
def test_mistake_page_shows_the_triage_after_the_vote(workspace, server, page_of):
    page = page_of(server, "Rita")
    page.goto("/")
    page.get_by_role("link", name="grave", exact=True).click()
    ready(page)
    expect(page.locator("#labels")).to_contain_text("by gamma")
    expect(page.locator("#triage")).to_be_hidden()
    page.keyboard.press("a")
    page.keyboard.press("2")
    page.keyboard.press("1")
    answered(page, "a")
    expect(page.locator("#triage")).to_contain_text("fine-grained, major. The automatic triage suggests:")
    ready(page)
    page.keyboard.press("n")
    page.get_by_role("button", name="The prediction is unclear").click()
    expect(page.locator("#count")).to_have_text("3")
    saved(page)
    page.keyboard.press("z")
    expect(page.locator("#count")).to_have_text("2")
    expect(page.locator("#triage")).to_be_hidden()
    for _ in range(2):
        ready(page)
        page.get_by_role("button", name="Spurious correlation").click()
        page.get_by_role("button", name="Borderline").click()
    expect(page.get_by_role("heading", name="All done")).to_be_visible()
    votes = [row for row in workspace.ledger.rows() if row["kind"] == "vote"]
    assert [(row["answer"], row["severity"], row["reason"]) for row in votes] == [
        ("fine-grained", "major", ""),
        (NO_MISTAKE, None, "the prediction is unclear"),
        (None, None, ""),
        ("spurious correlation", "borderline", ""),
        ("spurious correlation", "borderline", ""),
    ]


@pytest.fixture
def windows(server, page_of):
    """Creates pages of the server."""
    return partial(page_of, server)


@pytest.mark.parametrize("width", [360, 1280])
def test_panel_pages_are_legible(workspace, gammas, mistakes, windows, width):
    first, second = item_numbers(workspace, gammas)
    cast_votes(workspace, first, Rita="correct", Rob="wrong", Rose="problematic", reason="drawing")
    cast_votes(workspace, second, Rita="unclear", Rob="unclear", Rose="unclear")
    workspace.ledger.discussions.comment(first, workspace.ledger.people.named("Rob"), "see https://example.org")
    mistake = item_numbers(workspace, mistakes)[0]
    page = windows("Rita", width=width)
    for address in (
        f"/panel/{gammas.id}", f"/panel/{gammas.id}?show=decided", f"/panel/{gammas.id}/{first}",
        f"/panel/{gammas.id}/{second}", f"/panel/{mistakes.id}", f"/panel/{mistakes.id}/{mistake}",
        f"/mistake/{mistakes.id}",
    ):  # fmt: skip
        page.goto(address)
        page.wait_for_load_state("networkidle")
        assert faint_texts(page) == [], address
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address
