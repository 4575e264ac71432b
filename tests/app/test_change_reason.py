"""Changing a vote after the other votes were revealed: the page asks for a reason."""

import pytest
from panel_votes import cast_votes
from playwright.sync_api import expect
from unsteady_network import JUDGE, LATENCY, MISTAKE, Failure, holding
from work_page import ready, saved

from regrade.app.views import image_address

QUESTION = "Why do you change your vote?"


@pytest.fixture
def open_on(unsteady):
    """Opens a station's page on a queue of two items; only the person's own vote on the first shown item is missing."""

    def opened(station):
        queue = unsteady.queue(station.question, items=2, overlap=2)
        page = station.open(unsteady, queue)
        item = int(ready(page))
        cast_votes(
            unsteady.workspace, item, Rob=station.answers[0] if station is JUDGE else (station.answers[0], "major")
        )
        return queue, page, item

    return opened


def vote_and_undo(page):
    """Vote, and undo while the vote is in flight: before that, undo leaves no trace; after it, the page asks."""
    with holding(page, "votes"):
        with page.expect_request("**/votes"):
            page.keyboard.press("c")
        page.keyboard.press("z")


def shows_image_of(page, unsteady, queue, item):
    site = unsteady.network.app.state.site
    address = image_address(site, queue, unsteady.workspace.ledger.items.with_id(item))
    image = page.locator("#change-reason-image")
    expect(image).to_have_attribute("src", f"{address}?side=160")
    expect(image).to_be_visible()


def give_reason(page, text="it is a nine"):
    expect(page.get_by_role("heading", name=QUESTION)).to_be_visible()
    page.get_by_label("Reason", exact=True).fill(text)
    page.keyboard.press("Enter")


@pytest.mark.parametrize("station", [JUDGE, MISTAKE], ids=lambda station: station.name)
def test_undo_of_a_revealed_vote_asks_for_the_reason(unsteady, open_on, station):
    queue, page, item = open_on(station)
    station.answer(page, 0)
    saved(page)
    following = ready(page)
    assert following != str(item)
    page.keyboard.press("z")
    expect(page.get_by_role("heading", name=QUESTION)).to_be_visible()
    shows_image_of(page, unsteady, queue, item)
    page.keyboard.press("Escape")
    assert ready(page) == following
    assert unsteady.workspace.ledger.decisions.current(item) is not None
    page.keyboard.press("z")
    give_reason(page)
    expect(page.locator(f'body[data-ready="{item}"]')).to_have_count(1)
    station.answer(page, 1)
    saved(page)
    rows = unsteady.votes(queue, "Rita")
    assert [(row["answer"], row["why"]) for row in rows] == [
        (station.answers[0], ""), (None, "it is a nine"), (station.answers[1], "it is a nine"),
    ]  # fmt: skip
    assert unsteady.workspace.ledger.decisions.current(item) is None


def test_undo_asks_for_a_reason_when_the_server_requires_one(unsteady, open_on):
    queue, page, item = open_on(JUDGE)
    unsteady.network.latency = LATENCY
    vote_and_undo(page)
    expect(page.locator(f'body[data-ready="{item}"]')).to_have_count(1)
    page.keyboard.press("w")
    shows_image_of(page, unsteady, queue, item)
    give_reason(page)
    saved(page)
    rows = unsteady.votes(queue, "Rita")
    assert [(row["answer"], row["why"]) for row in rows] == [
        ("correct", ""), (None, "it is a nine"), ("wrong", "it is a nine"),
    ]  # fmt: skip


def test_escape_keeps_the_vote_and_drops_later_entries(unsteady, open_on):
    queue, page, item = open_on(JUDGE)
    unsteady.network.latency = LATENCY
    vote_and_undo(page)
    expect(page.get_by_role("heading", name=QUESTION)).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(f'body[data-ready="{item}"]')).to_have_count(0)
    ready(page)
    expect(page.locator("#count")).to_have_text("2")
    saved(page)
    assert unsteady.standing(queue, "Rita") == ["correct"]


def test_reason_is_asked_for_after_a_reload(unsteady, open_on):
    queue, page, item = open_on(JUDGE)
    unsteady.network.failures = [Failure("/undo$")]
    vote_and_undo(page)
    expect(page.locator("#notice")).to_contain_text("The server has a problem")
    page.goto("/")
    unsteady.network.steady()
    expect(page.locator("#notice")).to_contain_text("Your undo needs a reason")
    assert unsteady.standing(queue, "Rita") == ["correct"]
    page.goto(f"/judge/{queue.id}")
    give_reason(page)
    saved(page)
    assert unsteady.standing(queue, "Rita") == []
    page.reload()
    while ready(page) != str(item):
        page.keyboard.press("u")
    page.keyboard.press("w")
    give_reason(page, "as I said")
    saved(page)
    assert unsteady.votes(queue, "Rita")[-1]["why"] == "as I said"


def test_panel_asks_for_a_reason_after_a_vote_was_taken_back(unsteady, open_on):
    queue, page, item = open_on(JUDGE)
    page.close()
    cast_votes(unsteady.workspace, item, Rita="wrong")
    ledger = unsteady.workspace.ledger
    ledger.votes.retract(item, ledger.people.named("Rita"), key=f"taken back {item}", why="no idea")
    page = page.context.new_page()
    page.goto(f"/panel/{queue.id}/{item}")
    expect(page.locator("body[data-version][data-ready]")).to_have_count(1)
    page.keyboard.press("c")
    page.locator("#cast").click()
    expect(page.get_by_label("Why do you change it?")).to_be_focused()
    page.keyboard.type("now I see it")
    page.keyboard.press("Enter")
    expect(page.locator("#votes li")).to_have_count(2)
    assert unsteady.votes(queue, "Rita")[-1]["why"] == "now I see it"


@pytest.mark.parametrize("station", [JUDGE, MISTAKE], ids=lambda station: station.name)
def test_reason_dialog_closes_without_a_vote_when_the_item_changes(unsteady, station):
    queue = unsteady.queue(station.question, items=2, overlap=2)
    page = station.open(unsteady, queue)
    item = ready(page)
    station.answer(page, 0)
    saved(page)
    ready(page)
    cast_votes(
        unsteady.workspace, int(item), Rob=station.answers[0] if station is JUDGE else (station.answers[0], "major")
    )
    with holding(page, "undo"):
        page.keyboard.press("z")
        expect(page.locator(f'body[data-ready="{item}"]')).to_have_count(1)
        page.keyboard.press("p" if station is JUDGE else "n")
        expect(page.locator("#reasons")).to_be_visible()
    expect(page.get_by_role("heading", name=QUESTION)).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(f'body[data-ready="{item}"]')).to_have_count(0)
    ready(page)
    expect(page.locator("#reasons")).to_be_hidden()
    page.keyboard.press("1")
    expect(page.locator("#count")).to_have_text("2")
    saved(page)
    assert [row["answer"] for row in unsteady.votes(queue, "Rita")] == [station.answers[0]]


def test_number_keys_are_ignored_behind_another_dialog(unsteady):
    queue = unsteady.queue(JUDGE.question, items=2)
    page = JUDGE.open(unsteady, queue)
    ready(page)
    page.keyboard.press("p")
    expect(page.locator("#reasons")).to_be_visible()
    page.evaluate("async () => { (await import('/static/reason.js')).askReason(); }")
    page.get_by_role("button", name="Keep my vote").focus()
    page.keyboard.press("1")
    page.keyboard.press("Escape")
    expect(page.locator("#reasons")).to_be_visible()
    saved(page)
    assert unsteady.votes(queue, "Rita") == []


def test_ask_reason_asks_for_each_vote_separately(unsteady):
    queue = unsteady.queue(JUDGE.question)
    page = JUDGE.open(unsteady, queue)
    ready(page)
    page.evaluate("""async () => {
      const { askReason } = await import('/static/reason.js');
      window.reasons = Promise.all([askReason(), askReason()]);
    }""")
    give_reason(page, "it is a nine")
    expect(page.get_by_label("Reason", exact=True)).to_have_value("")
    give_reason(page, "it is a four")
    assert page.evaluate("() => window.reasons") == ["it is a nine", "it is a four"]


def test_keys_work_while_the_field_of_a_closed_dialog_has_the_focus(open_on):
    _, page, _ = open_on(JUDGE)
    JUDGE.answer(page, 0)
    saved(page)
    ready(page)
    press = "new KeyboardEvent('keydown', { key: 'z', bubbles: true })"
    page.evaluate(f"() => document.getElementById('change-reason-text').dispatchEvent({press})")
    expect(page.get_by_role("heading", name=QUESTION)).to_be_visible()


def test_refused_undo_keeps_the_vote(unsteady, open_on):
    queue, page, item = open_on(JUDGE)
    page.keyboard.press("w")
    saved(page)
    ready(page)
    ledger = unsteady.workspace.ledger
    ledger.decisions.lock(item, ledger.people.named("Rob"))
    page.keyboard.press("z")
    give_reason(page)
    expect(page.locator("#refusal")).to_contain_text("Your vote stays: this item was decided after discussion")
    ready(page)
    expect(page.locator("#count")).to_have_text("2")
    assert unsteady.standing(queue, "Rita") == ["wrong"]
