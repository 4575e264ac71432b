"""Reviewing a class in a real browser: by keyboard and mouse, wide and narrow, with lost connections and bad images."""

import pytest
from class_review_world import BUILD, items_of, open_review, removed_file
from playwright.sync_api import expect
from reviewing import publish, vote_on_open
from work_page import answers, faint_texts, saved

from regrade.ledger import VoteContent


@pytest.fixture
def queue(workspace):
    return open_review(workspace)


def opened(page, queue, class_id="3"):
    page.goto(f"/review/{queue.id}/{class_id}")
    page.locator(f'body[data-ready="{class_id}"]').wait_for(state="attached")
    page.wait_for_load_state("networkidle")
    return page.locator(".tile")


def reasons(workspace, name="Rita"):
    """The current reasons of a person's flags."""
    votes = [row for row in workspace.ledger.rows() if row["kind"] == "vote" and row["person"] == name]
    last = {row["example"]: row for row in votes}
    return sorted(row["reason"] for row in last.values() if row["answer"] == "problematic")


@pytest.mark.parametrize("width", [1280, 820])
def test_a_class_is_reviewed_by_keyboard_alone(workspace, queue, server, page_of, width):
    page = page_of(server, "Rita", width=width)
    page.goto(f"/review/{queue.id}")
    page.keyboard.press("n")
    page.wait_for_url(f"**/review/{queue.id}/*")
    tiles = opened(page, queue)
    expect(tiles.first).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    expect(page.locator("#reasons")).to_be_visible()
    page.keyboard.press("2")
    expect(tiles.nth(1)).to_contain_text("flagged: drawing")
    expect(tiles.nth(1)).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("f")
    page.locator("#another").focus()
    page.keyboard.type("a sign, 3 digits")
    page.keyboard.press("Enter")
    expect(tiles.nth(2)).to_contain_text("flagged: a sign, 3 digits")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("f")
    expect(tiles.nth(1)).to_contain_text("keep")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("1")
    expect(tiles.first).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#tally")).to_have_text("1 kept, 2 flagged")
    assert answers(workspace, "Rita") == {}
    page.keyboard.press("s")
    page.wait_for_url(f"**/review/{queue.id}/4")
    saved(page)
    assert sorted(answers(workspace, "Rita").values()) == ["keep", "problematic", "problematic"]
    assert reasons(workspace) == ["a sign, 3 digits", "wrong class"]


@pytest.mark.parametrize("width", [1280, 820])
def test_a_class_is_reviewed_by_mouse(workspace, queue, server, page_of, width):
    page = page_of(server, "Leo", width=width)
    page.goto("/")
    page.get_by_role("link", name="Begin with new review").click()
    page.get_by_role("link", name="Begin", exact=False).click()
    tiles = opened(page, queue)
    tiles.nth(0).click()
    page.get_by_role("button", name="Inappropriate").click()
    tiles.nth(1).click()
    page.get_by_role("button", name="Back").click()
    expect(tiles.nth(1)).to_contain_text("keep")
    tiles.nth(2).click()
    page.get_by_role("button", name="Duplicate").click()
    tiles.nth(2).click()
    expect(tiles.nth(2)).to_have_attribute("aria-pressed", "false")
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    assert faint_texts(page) == []
    page.get_by_role("button", name="Submit class").click()
    page.wait_for_url(f"**/review/{queue.id}/4")
    saved(page)
    assert reasons(workspace, "Leo") == ["inappropriate"]
    assert len(answers(workspace, "Leo")) == 3


def test_holding_an_image_enlarges_it(queue, server, page_of):
    page = page_of(server, "Rita")
    tiles = opened(page, queue)
    tiles.nth(1).hover()
    page.mouse.down()
    expect(page.locator("#enlarged")).to_be_visible()
    page.mouse.up()
    expect(page.locator("#enlarged")).to_be_hidden()
    expect(tiles.nth(1)).to_have_attribute("aria-pressed", "false")
    expect(page.locator("#reasons")).to_be_hidden()
    tiles.nth(0).focus()
    page.keyboard.down("e")
    expect(page.locator("#enlarged img")).to_have_attribute("src", tiles.nth(0).get_attribute("data-image"))
    expect(page.locator("#enlarged")).to_be_visible()
    page.keyboard.up("e")
    expect(page.locator("#enlarged")).to_be_hidden()


def test_images_that_were_not_looked_at_block_the_class(workspace, queue, server, page_of):
    page = page_of(server, "Rita", width=360, height=420)
    opened(page, queue)
    page.evaluate("scrollTo(0, 0)")
    page.keyboard.press("s")
    expect(page.locator("#notice")).to_contain_text("Look at all images first")
    assert answers(workspace, "Rita") == {}
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    page.locator(".tile").last.scroll_into_view_if_needed()
    expect(page.locator(".tile[data-seen]")).to_have_count(3)
    page.keyboard.press("s")
    page.wait_for_url(f"**/review/{queue.id}/4")
    assert len(answers(workspace, "Rita")) == 3


def test_lost_connection_keeps_the_class(workspace, queue, server, context_of):
    context = context_of(server, "Rita")
    page = context.new_page()
    tiles = opened(page, queue)
    tiles.nth(0).focus()
    page.keyboard.press("3")
    context.set_offline(True)
    page.keyboard.press("s")
    expect(page.locator("#notice")).to_contain_text("kept in this browser")
    expect(page.locator("#submit")).to_be_disabled()
    assert answers(workspace, "Rita") == {}
    context.set_offline(False)
    page.wait_for_url(f"**/review/{queue.id}/4")
    saved(page)
    assert (len(answers(workspace, "Rita")), reasons(workspace)) == (3, ["edited"])


def test_a_reload_sends_the_class_once(workspace, queue, server, page_of):
    page = page_of(server, "Rita")
    opened(page, queue)
    lost = []

    def lose(route):
        lost.append(route.fetch())
        route.abort()

    page.route("**/class-votes", lose, times=1)
    page.keyboard.press("s")
    expect(page.locator("#notice")).to_contain_text("No connection")
    assert len(lost) == 1
    page.reload()
    page.wait_for_url(f"**/review/{queue.id}/4")
    saved(page)
    assert len([row for row in workspace.ledger.rows() if row["kind"] == "vote"]) == 3


def test_a_refusal_stays_on_the_page_and_stores_nothing(workspace, queue, server, page_of):
    page = page_of(server, "Rita")
    tiles = opened(page, queue)
    page.route("**/class-votes", lambda route: route.fulfill(status=400, json={"error": "an image has two votes"}))
    tiles.nth(0).focus()
    page.keyboard.press("1")
    page.keyboard.press("s")
    expect(page.locator("#refusal")).to_contain_text("Not counted: an image has two votes.")
    expect(page.locator("#submit")).to_be_enabled()
    expect(tiles.nth(0)).to_contain_text("flagged: wrong class")
    page.unroute("**/class-votes")
    page.keyboard.press("s")
    page.wait_for_url(f"**/review/{queue.id}/4")
    assert reasons(workspace) == ["wrong class"]


def test_earlier_votes_are_changed_with_a_reason(workspace, queue, server, page_of):
    items = items_of(workspace, queue, "3")
    rita = workspace.ledger.people.named("Rita")
    contents = {item: VoteContent(f"first-{item}", "keep") for item in items[1:]}
    contents[items[0]] = VoteContent("first-flag", "problematic", reason="drawing")
    workspace.ledger.votes.cast_all(rita, contents)
    page = page_of(server, "Rita")
    tiles = opened(page, queue)
    expect(page.locator("#tally")).to_have_text("Nothing is left for you in this class.")
    expect(page.locator("#submit")).to_be_disabled()
    flagged = page.locator(f'.tile[data-item="{items[0]}"]')
    expect(flagged).to_contain_text("flagged by you before: drawing")
    flagged.click()
    page.locator("#change-reason-text").fill("it is a photograph")
    page.get_by_role("button", name="Change it").click()
    expect(flagged).to_contain_text("changed: kept")
    second = page.locator(f'.tile[data-item="{items[1]}"]')
    second.focus()
    page.keyboard.press("4")
    expect(page.locator("#tally")).to_have_text("2 changed")
    second.click()  # back to what it was
    expect(second).to_contain_text("kept by you before")
    expect(page.locator("#tally")).to_have_text("1 changed")
    page.keyboard.press("s")
    page.wait_for_url(f"**/review/{queue.id}/4")
    decided = {row.example: row.answer for row in workspace.ledger.decisions.of_queue(queue)}
    assert set(decided.values()) == {"keep"}
    assert tiles.count() == 3


def test_votes_that_came_too_late_are_named(workspace, queue, server, page_of):
    page = page_of(server, "Rita")
    tiles = opened(page, queue)
    item = int(tiles.first.get_attribute("data-item"))
    tiles.first.focus()
    page.keyboard.press("1")
    rob = workspace.ledger.people.named("Rob")
    workspace.ledger.votes.cast_all(rob, {item: VoteContent("robs-own-key", "keep")})
    page.keyboard.press("s")
    expect(page.locator("#refusal")).to_contain_text("One image was reviewed by another person in the meantime")
    expect(page.locator("#refusal")).to_contain_text("that you flagged")
    assert len(answers(workspace, "Rita")) == 2
    page.keyboard.press("n")
    page.wait_for_url(f"**/review/{queue.id}/4")


def test_an_image_that_cannot_be_shown_stays_open_until_reported(workspace, queue, server, page_of):
    image = workspace.ledger.items.with_id(items_of(workspace, queue, "3")[0]).example
    with removed_file(workspace, image):
        page = page_of(server, "Rita")
        tiles = opened(page, queue)
        broken = page.locator(".tile.broken")
        expect(broken).to_contain_text("cannot be shown")
        broken.click()
        expect(page.locator("#tally")).to_have_text("2 kept, 0 flagged, 1 cannot be shown")
        page.keyboard.press("s")
        page.wait_for_url(f"**/review/{queue.id}/4")
        assert len(answers(workspace, "Rita")) == 2
        tiles = opened(page, queue)
        page.get_by_role("button", name="as unreadable").click()
        expect(page.locator('.tile[data-state="reported"]')).to_contain_text("You reported this image")
    assert [report.item_id for report in workspace.ledger.reports.open()] == [items_of(workspace, queue, "3")[0]]
    assert tiles.count() == 3


def test_a_repaired_image_can_be_voted_on(workspace, queue, server, page_of):
    page = page_of(server, "Rita")
    image = workspace.ledger.items.with_id(items_of(workspace, queue, "3")[0]).example
    with removed_file(workspace, image):
        opened(page, queue)
        expect(page.locator(".tile.broken")).to_have_count(1)
    page.locator(".tile.broken").click()
    expect(page.locator("#tally")).to_have_text("3 kept, 0 flagged")


@pytest.mark.parametrize("width", [360, 820, 1280])
def test_pages_fit_and_are_legible(workspace, queue, server, page_of, width):
    vote_on_open(workspace, BUILD, "Rob", {})
    publish(workspace, BUILD)
    workspace.build.sample(BUILD, "threshold", per_class=3, min_answers=1, lowest=1.0, continue_from=0)
    workspace.build.review(BUILD)
    page = page_of(server, "Rita", width=width)
    for address in (f"/review/{queue.id}", f"/review/{queue.id}/3"):
        page.goto(address)
        page.wait_for_load_state("networkidle")
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), address
        assert faint_texts(page) == [], address
