"""Discussion of training answers: visible to those who have answered, under the feedback and on a page of its own."""

import itertools

import pytest
from label_page import true_class
from playwright.sync_api import expect
from work_page import ready

from regrade.ledger import Mode, NewItem, Question

_keys = itertools.count()
WORDS = "look at the tail: https://example.org/tails"


@pytest.fixture
def training(workspace):
    """Two images of digits to train on, for everyone."""
    workspace.review.queue_labels("digits", size=2, mode="training", name="learn")
    return workspace.ledger.queues.named("learn")


def items_of(workspace, queue):
    leo = workspace.ledger.people.named("Leo")
    return [row.item for row in workspace.ledger.discussions.standings(queue, leo)]


def answer(client, queue, item, value="3"):
    reply = client.write(f"/api/queues/{queue.id}/votes", item=item.id, key=f"training-{next(_keys)}", answer=value)
    assert reply.status_code == 200, reply.text


def place(queue, item):
    return f"/api/queues/{queue.id}/items/{item.id}/comments"


class TestComments:
    def test_comments_are_for_those_who_have_answered(self, workspace, training, visitor):
        item = items_of(workspace, training)[0]
        leo, rita = visitor("Leo"), visitor("Rita")
        for refused in (leo.get(place(training, item)), leo.write(place(training, item), text=WORDS)):
            assert refused.status_code == 403
            assert "answer about this image first" in refused.text
        answer(leo, training, item)
        (comment,) = leo.write(place(training, item), text=WORDS).json()["comments"]
        assert (comment["person"], comment["text"]) == ("Leo", WORDS)
        assert rita.get(place(training, item)).status_code == 403
        answer(rita, training, item)
        assert rita.get(place(training, item)).json() == leo.get(place(training, item)).json()

    def test_undo_hides_the_comments_again(self, workspace, training, visitor):
        item, leo = items_of(workspace, training)[0], visitor("Leo")
        answer(leo, training, item)
        leo.write(place(training, item), text=WORDS)
        leo.write(f"/api/queues/{training.id}/undo", key="undo-training", item=item.id)
        assert leo.get(place(training, item)).status_code == 403
        assert WORDS not in leo.get(f"/training/{training.id}").text

    def test_comments_are_withheld_while_another_queue_asks_for_the_label(self, workspace, training, visitor):
        """Comments may name the class of the image."""
        item = items_of(workspace, training)[0]
        leo, rita = visitor("Leo"), visitor("Rita")
        answer(rita, training, item)
        rita.write(place(training, item), text="it is a seven")
        answer(leo, training, item)
        second = workspace.ledger.queues.create("second", Question.LABEL, test_set="digits", overlap=9)
        workspace.ledger.items.add(second, [NewItem(item.example)])
        assert leo.get(place(training, item)).status_code == 403
        assert "seven" not in leo.get(f"/training/{training.id}").text
        assert "Discussion of" not in leo.get("/").text
        answer(leo, second, items_of(workspace, second)[0])
        assert "seven" in leo.get(place(training, item)).text

    def test_comments_exist_in_training_only(self, workspace, visitor):
        workspace.review.queue_labels("digits", size=1, name="exam")
        exam = workspace.ledger.queues.named("exam")
        item, leo = items_of(workspace, exam)[0], visitor("Leo")
        answer(leo, exam, item)
        assert leo.get(place(exam, item)).status_code == leo.write(place(exam, item), text="x").status_code == 404
        assert leo.get(f"/training/{exam.id}").status_code == 404

    def test_comments_need_access_to_the_queue_and_an_item_of_it(self, workspace, training, visitor):
        first, second = items_of(workspace, training)
        answer(visitor("Leo"), training, first)
        workspace.ledger.queues.assign(training, [workspace.ledger.people.named("Leo")])
        assert visitor("Rita").get(place(training, first)).status_code == 404
        assert visitor("Leo").get(place(training, second)).status_code == 403
        assert visitor().get(place(training, first)).status_code == 401
        elsewhere = workspace.ledger.queues.create("more", Question.LABEL, test_set="digits", mode=Mode.TRAINING)
        assert visitor("Leo").get(place(elsewhere, first)).status_code == 404

    @pytest.mark.parametrize("text", ["", "  ", "\u200b"])
    def test_empty_comments_are_refused(self, workspace, training, visitor, text):
        item, leo = items_of(workspace, training)[0], visitor("Leo")
        answer(leo, training, item)
        assert leo.write(place(training, item), text=text).status_code == 400

    def test_comments_are_in_the_chain_and_in_the_export(self, workspace, training, visitor):
        item, leo = items_of(workspace, training)[0], visitor("Leo")
        answer(leo, training, item)
        for _ in range(2):  # sent twice
            leo.write(place(training, item), text=WORDS)
        assert [row["text"] for row in workspace.ledger.rows() if row["kind"] == "comment"] == [WORDS]
        assert workspace.review.problems() == ()


class TestPage:
    def test_page_lists_answered_images_with_comments(self, workspace, training, visitor):
        first, second = items_of(workspace, training)
        leo, rita = visitor("Leo"), visitor("Rita")
        for item in (first, second):
            answer(rita, training, item)
            rita.write(place(training, item), text=f"about {item.id}")
        answer(leo, training, first, true_class(workspace, str(first.id)))
        page = leo.get(f"/training/{training.id}").text
        assert f'id="item-{first.id}"' in page and f'id="item-{second.id}"' not in page
        assert "Discussion of 1 image" in leo.get("/").text
        assert "Discussion of 2 images" in rita.get("/").text
        assert "There are no comments yet" in visitor("Rob").get(f"/training/{training.id}").text

    def test_newest_discussion_comes_first(self, workspace, training, visitor):
        first, second = items_of(workspace, training)
        rita = visitor("Rita")
        for item in (first, second):
            answer(rita, training, item)
            rita.write(place(training, item), text=WORDS)
        page = rita.get(f"/training/{training.id}").text
        assert page.index(f'id="item-{second.id}"') < page.index(f'id="item-{first.id}"')
        rita.write(place(training, first), text="one more")
        page = rita.get(f"/training/{training.id}").text
        assert page.index(f'id="item-{first.id}"') < page.index(f'id="item-{second.id}"')


def test_people_discuss_under_the_feedback_and_on_the_page(workspace, training, server, page_of):
    """Leo writes with the keyboard under his feedback; Rita sees it after her answer and replies with the mouse."""
    leo = page_of(server, "Leo")
    leo.goto(f"/label/{training.id}")
    item = ready(leo)
    expect(leo.locator(".thread")).to_be_hidden()
    labeled_with_feedback(leo, true_class(workspace, item))
    leo.keyboard.press("t")
    expect(leo.locator("textarea")).to_be_focused()
    leo.keyboard.type("the tail")
    leo.keyboard.press("Enter")
    leo.keyboard.type(WORDS)
    expect(leo.locator("#feedback")).to_be_visible()
    leo.keyboard.press("Control+Enter")
    expect(leo.locator(".thread .comments .text")).to_have_text(f"the tail\n{WORDS}")
    expect(leo.locator("textarea")).to_have_value("")
    rita = page_of(server, "Rita")
    rita.goto(f"/label/{training.id}")
    while ready(rita) != item:
        labeled_with_feedback(rita, "3")
        expect(rita.locator(".thread .comments li")).to_have_count(0)
        rita.keyboard.press("Enter")
    labeled_with_feedback(rita, "3")
    expect(rita.locator(".thread .comments a")).to_have_attribute("href", "https://example.org/tails")
    rita.locator("textarea").fill("I see it now")
    rita.get_by_role("button", name="Send").click()
    expect(leo.locator(".thread .comments li")).to_have_count(2)
    leo.keyboard.press("Escape")
    leo.get_by_role("button", name="Next").click()
    ready(leo)
    leo.goto("/")
    leo.get_by_role("link", name="Discussion of 1 image").click()
    expect(leo.locator(".training-card .comments .text").last).to_have_text("I see it now")
    leo.locator("textarea").fill("Good.")
    leo.get_by_role("button", name="Send").click()
    expect(leo.locator(".training-card .comments li")).to_have_count(3)


def labeled_with_feedback(page, query):
    """Answer by keyboard, and wait for the feedback."""
    page.keyboard.press("/")
    page.keyboard.type(query)
    expect(page.locator("#results [aria-selected=true]")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator("#chosen")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator("#feedback")).to_be_visible()


def test_draft_of_a_comment_is_kept_on_other_pages(training, server, page_of):
    page = page_of(server, "Leo")
    page.goto(f"/label/{training.id}")
    ready(page)
    labeled_with_feedback(page, "3")
    page.locator("textarea").fill("a comment")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".comments li")).to_have_count(1)
    page.locator("textarea").fill("half a thou")
    page.goto(f"/training/{training.id}")
    expect(page.locator("textarea")).to_have_value("half a thou")
