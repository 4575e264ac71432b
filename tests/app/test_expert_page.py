"""Asking an expert about an item of the panel: the question, where the expert finds it, and their vote."""

import pytest
from panel_votes import cast_votes, open_mistake_queue
from playwright.sync_api import expect
from work_page import item_numbers

from regrade.ledger import Mode, NewItem, Question

NOTE = "is the loop closed?"


@pytest.fixture
def queue(workspace):
    return open_mistake_queue(workspace, "novel", Question.JUDGE, count=2, overlap=2)


@pytest.fixture
def item(workspace, queue):
    """An item on which Rita and Rob disagree."""
    first = item_numbers(workspace, queue)[0]
    cast_votes(workspace, first, Rita="correct", Rob="wrong")
    return first


def person_id(workspace, name):
    return workspace.ledger.people.named(name).id


def ask(client, workspace, queue, item, *, expert="Rose", note=NOTE):
    return client.write(f"/api/panel/{queue.id}/{item}/ask", expert=person_id(workspace, expert), note=note)


def test_expert_finds_the_question_on_home_and_in_the_queue(workspace, queue, item, visitor):
    state = ask(visitor("Rita"), workspace, queue, item).json()["state"]
    assert [(row["person"], row["by"], row["answered"]) for row in state["experts"]] == [("Rose", "Rita", False)]
    assert [comment["text"] for comment in state["comments"]] == [f"@Rose: {NOTE}"]
    for page in ("/", f"/panel/{queue.id}"):
        shown = visitor("Rose").get(page).text
        assert NOTE in shown and f'href="/panel/{queue.id}/{item}"' in shown
        assert NOTE not in visitor("Olga").get(page).text
    assert NOTE not in visitor("Leo").get("/").text


def test_question_is_hidden_while_the_expert_has_to_label_the_image(workspace, queue, item, visitor):
    ask(visitor("Rita"), workspace, queue, item)
    labeling = workspace.ledger.queues.create(
        "to label", Question.LABEL, test_set="digits", mode=Mode.TRAINING, overlap=9
    )
    workspace.ledger.items.add(labeling, [NewItem(workspace.ledger.items.with_id(item).example)])
    for page in ("/", f"/panel/{queue.id}"):
        assert NOTE not in visitor("Rose").get(page).text


@pytest.mark.parametrize(
    ("expert", "note", "status", "words"),
    [
        ("Leo", NOTE, 400, "Leo is a labeler: an expert is a reviewer or an owner"),
        ("Rita", NOTE, 400, "you cannot ask yourself"),
        ("Rob", NOTE, 409, "Rob has voted on this item"),
        ("Rose", "\u200b", 400, "the question to an expert is empty"),
    ],
)
def test_bad_questions_are_refused(workspace, queue, item, visitor, expert, note, status, words):  # noqa: PLR0917
    reply = ask(visitor("Rita"), workspace, queue, item, expert=expert, note=note)
    assert (reply.status_code, words in reply.json()["error"]) == (status, True)


def test_unknown_experts_and_labelers_are_refused(workspace, queue, item, visitor):
    reply = visitor("Rita").write(f"/api/panel/{queue.id}/{item}/ask", expert=999, note=NOTE)
    assert (reply.status_code, reply.json()["error"]) == (404, "unknown person '999'")
    assert ask(visitor("Leo"), workspace, queue, item).status_code == 403


def test_expert_is_asked_answers_and_the_panel_decides(workspace, queue, item, server, page_of):
    """Rita asks with the keyboard, Rose answers with the mouse, and Rita locks the majority of three votes."""
    rita = page_of(server, "Rita")
    rita.goto(f"/panel/{queue.id}/{item}")
    expect(rita.locator("body[data-version]")).to_have_count(1)
    rita.keyboard.press("e")
    expect(rita.locator("#ask-expert").locator("option")).to_have_text(["Olga", "Rob", "Rose"])
    rita.locator("#ask-expert").select_option("Rose")
    rita.get_by_label("What is in question?").fill(NOTE)
    rita.keyboard.press("Enter")
    expect(rita.locator("#experts")).to_contain_text("Rose was asked as an expert by Rita, and has not voted yet")
    expect(rita.locator("#comments .text")).to_have_text(f"@Rose: {NOTE}")
    rose = page_of(server, "Rose")
    rose.goto("/")
    rose.locator(".asked a").click()
    expect(rose.locator("body[data-version][data-ready]")).to_have_count(1)
    rose.get_by_role("button", name="Add my vote").click()
    rose.locator("#vote-form [data-answer=wrong]").click()
    rose.locator("#reason").fill("it is open")
    rose.get_by_role("button", name="Vote", exact=True).click()
    expect(rita.locator("#votes")).to_contain_text("Rose, asked as an expert wrong it is open")
    expect(rita.locator("#experts")).to_be_hidden()
    rita.keyboard.press("l")
    rita.get_by_role("button", name="Lock", exact=True).last.click()
    expect(rita.locator("#decision")).to_contain_text("Decision: wrong by majority, locked by Rita")
    expect(rita.locator("#ask")).to_be_hidden()
    rose.goto("/")
    expect(rose.locator(".asked")).to_have_count(0)
    assert workspace.review.problems() == ()


def test_refused_question_keeps_its_text(queue, item, server, page_of):
    page = page_of(server, "Rita")
    page.goto(f"/panel/{queue.id}/{item}")
    expect(page.locator("body[data-version]")).to_have_count(1)
    page.get_by_role("button", name="Ask an expert").click()
    page.locator("#ask-expert").select_option("Rob")
    page.get_by_label("What is in question?").fill(NOTE)
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_text("Rob has voted on this item: ask another expert")).to_be_visible()
    page.keyboard.press("e")
    expect(page.get_by_label("What is in question?")).to_have_value(NOTE)
