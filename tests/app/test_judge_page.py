"""Judging in a real browser: by keyboard and mouse, with undo, reload, a lost connection and a killed server."""

import pytest
from playwright.sync_api import expect
from work_page import answered, answers, ready, saved

from regrade.ledger import Mode, NewItem, Question, VoteContent


@pytest.mark.usefixtures("judge_queue")
def test_reviewer_judges_by_keyboard_and_mouse(workspace, server, page_of):
    page = page_of(server, "Rita")
    page.goto("/")
    page.get_by_role("link", name="Begin with novel").click()
    expect(page.locator("#count")).to_have_text("1")
    for key in "cwu":
        answered(page, key)
    ready(page)
    page.get_by_role("button", name="Problematic").click()
    page.get_by_role("button", name="Drawing").click()
    expect(page.locator("#count")).to_have_text("5")
    saved(page)
    votes = answers(workspace, "Rita")
    assert sorted(votes.values()) == ["correct", "problematic", "unclear", "wrong"]
    reasons = {row["reason"] for row in workspace.ledger.rows() if row["kind"] == "vote"}
    assert reasons == {"", "drawing"}


def test_undo_returns_the_image_and_keeps_the_history(workspace, judge_queue, server, page_of):
    page = page_of(server, "Rita")
    page.goto(f"/judge/{judge_queue.id}")
    answered(page, "c")
    ready(page)
    image = page.locator("#image").get_attribute("src")
    answered(page, "w")
    saved(page)
    page.keyboard.press("z")
    expect(page.locator("#image")).to_have_attribute("src", image)
    answered(page, "c")
    saved(page)
    assert sorted(answers(workspace, "Rita").values()) == ["correct", "correct"]
    assert len([row for row in workspace.ledger.rows() if row["kind"] == "vote"]) == 4


def test_reload_and_back_keep_every_vote_once(workspace, judge_queue, server, page_of):
    page = page_of(server, "Rita")
    page.goto("/")
    page.goto(f"/judge/{judge_queue.id}")
    answered(page, "c")
    ready(page)
    image = page.locator("#image").get_attribute("src")
    page.reload()
    expect(page.locator("#image")).to_have_attribute("src", image)
    page.go_back()
    page.go_forward()
    expect(page.locator("#image")).to_have_attribute("src", image)
    answered(page, "w")
    saved(page)
    assert sorted(answers(workspace, "Rita").values()) == ["correct", "wrong"]


def test_two_tabs_count_an_image_once(workspace, judge_queue, server, context_of):
    context = context_of(server, "Rita")
    first, second = context.new_page(), context.new_page()
    for page in (first, second):
        page.goto(f"/judge/{judge_queue.id}")
        ready(page)
    answered(first, "c")
    answered(second, "w")
    answered(second, "u")
    saved(second)
    assert len(answers(workspace, "Rita")) == 2


def test_lost_connection_keeps_answers(workspace, judge_queue, server, context_of):
    context = context_of(server, "Rita")
    page = context.new_page()
    page.goto(f"/judge/{judge_queue.id}")
    ready(page)
    page.wait_for_load_state("networkidle")
    context.set_offline(True)
    page.keyboard.press("c")
    expect(page.locator("#notice")).to_contain_text("kept in this browser")
    assert answers(workspace, "Rita") == {}
    context.set_offline(False)
    expect(page.locator("#notice")).to_contain_text("everything is saved")
    assert list(answers(workspace, "Rita").values()) == ["correct"]


def test_restarted_server_has_every_answer_once(workspace, judge_queue, process, page_of):
    page = page_of(process, "Rita")
    page.goto(f"/judge/{judge_queue.id}")
    answered(page, "c")
    ready(page)
    page.wait_for_load_state("networkidle")
    process.kill()
    page.keyboard.press("w")
    expect(page.locator("#notice")).to_contain_text("kept in this browser")
    process.start()
    expect(page.locator("#notice")).to_contain_text("everything is saved")
    assert sorted(answers(workspace, "Rita").values()) == ["correct", "wrong"]


def test_last_image_ends_the_queue(workspace, judge_queue, server, page_of):
    page = page_of(server, "Rita")
    page.goto(f"/judge/{judge_queue.id}")
    for _ in range(12):
        answered(page, "c")
    expect(page.get_by_role("heading", name="All done")).to_be_visible()
    saved(page)
    assert len(answers(workspace, "Rita")) == 12


def test_refused_work_is_not_shown_as_done(judge_queue, server, page_of):
    page = page_of(server, "Rita")
    page.route("**/next", lambda route: route.fulfill(status=401, json={"error": "sign in first"}))
    page.goto(f"/judge/{judge_queue.id}")
    expect(page.locator("#notice")).to_contain_text("Your session has ended: sign in again in another tab.")
    expect(page.get_by_role("heading", name="All done")).to_be_hidden()


def test_undo_with_a_lost_response_takes_back_one_vote(workspace, judge_queue, server, page_of):
    page = page_of(server, "Rita")
    page.goto(f"/judge/{judge_queue.id}")
    answered(page, "c")
    ready(page)
    image = page.locator("#image").get_attribute("src")
    answered(page, "w")
    saved(page)
    lost = []

    def lose(route):
        lost.append(route.fetch())
        route.abort()

    page.route("**/undo", lose, times=1)
    page.keyboard.press("z")
    expect(page.locator("#notice")).to_contain_text("No connection")
    expect(page.locator("#image")).to_have_attribute("src", image)
    saved(page)
    assert len(lost) == 1
    assert list(answers(workspace, "Rita").values()) == ["correct"]


def test_judge_page_withholds_labels_until_the_image_is_labeled(workspace, server, page_of):
    """The same image is to be judged and to be labeled by the same person."""
    target = workspace.store.test_set("digits")
    judging = workspace.ledger.queues.create("second", Question.JUDGE, test_set="digits", labels="multi")
    workspace.ledger.items.add(judging, [NewItem(target.ids[0], "1")])
    exam = workspace.ledger.queues.create("exam", Question.LABEL, test_set="digits", mode=Mode.TRAINING)
    workspace.ledger.items.add(exam, [NewItem(target.ids[0])])
    page = page_of(server, "Rita")
    page.goto(f"/judge/{judging.id}")
    ready(page)
    expect(page.locator("#labels")).to_have_text("Known labelsshown once you have labeled this image")
    item = workspace.ledger.items.next(exam, workspace.ledger.people.named("Rita"))
    workspace.ledger.votes.cast(item.id, workspace.ledger.people.named("Rita"), VoteContent("labeled-first", "0"))
    page.reload()
    ready(page)
    expect(page.locator("#labels")).to_contain_text("Known correct")


def test_page_says_which_images_an_examination_holds_back(workspace, server, page_of):
    target = workspace.store.test_set("digits")
    judging = workspace.ledger.queues.create("second", Question.JUDGE, test_set="digits", labels="multi")
    workspace.ledger.items.add(judging, [NewItem(target.ids[number], "1") for number in range(2)])
    exam = workspace.ledger.queues.create("exam", Question.LABEL, test_set="digits")
    workspace.ledger.items.add(exam, [NewItem(target.ids[0])])
    page = page_of(server, "Rita")
    page.goto(f"/judge/{judging.id}")
    answered(page, "c")
    line = "1 item is held back until you have labeled its image in 'exam'."
    expect(page.locator("#done")).to_contain_text(line)
    expect(page.get_by_role("heading", name="Nothing else for you now")).to_be_visible()
    page.goto("/")
    expect(page.get_by_text(line)).to_be_visible()
