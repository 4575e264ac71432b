"""Classes that a reviewer adds on the Judge and Panel pages: new items to judge, blind, and published as any other."""

import pytest
from panel_votes import cast_votes
from playwright.sync_api import expect
from work_page import answered, answers, faint_texts, item_numbers, ready, saved

from regrade.core import LabelState
from regrade.ledger import Purpose, Question

KEY = "0123456789abcdef"


@pytest.fixture
def add(workspace, judge_queue, visitor):
    """Adds a class to the image of the queue's first item."""

    def send(class_id, *, name="Rita", key=KEY, **values):
        item = item_numbers(workspace, judge_queue)[0]
        form = {"item": item, "class_id": class_id, "key": key, **values}
        return visitor(name).write(f"/api/queues/{judge_queue.id}/classes", **form)

    return send


def novel_class(workspace, steps=4):
    """A class that is neither the label of the first image nor in the queue."""
    return str((int(workspace.store.test_set("digits").labels[0]) + steps) % 10)


def test_added_class_is_an_item_with_the_vote_of_the_person(workspace, judge_queue, add):
    reply = add(novel_class(workspace), reason="its shape").json()
    assert (reply["added"], reply["message"]) == (True, "added")
    item = workspace.ledger.items.with_id(reply["item"]["id"])
    assert (item.queue_id, item.needed, item.missing) == (judge_queue.id, 3, 2)
    [proposal] = workspace.ledger.proposals.of_item(item.id)
    assert (proposal.person, proposal.reason) == ("Rita", "its shape")
    assert answers(workspace, "Rita") == {(item.example, item.class_id): "correct"}


def test_added_class_is_sent_twice_and_counts_once(workspace, judge_queue, add):
    first, second = add(novel_class(workspace)).json(), add(novel_class(workspace)).json()
    assert first["item"]["id"] == second["item"]["id"]
    assert workspace.ledger.queues.progress(judge_queue).items == 13
    again = add(novel_class(workspace), key=f"{KEY}2").json()
    assert (again["added"], again["message"]) == (False, "you added this class of the image before")


def test_added_class_is_judged_blind_and_published(workspace, judge_queue, add, visitor):
    class_id = novel_class(workspace)
    added = add(class_id, reason="its shape").json()["item"]["id"]
    shown = visitor("Rob").get(f"/api/queues/{judge_queue.id}/items/{added}").json()["item"]
    predicted = (
        visitor("Rob")
        .get(f"/api/queues/{judge_queue.id}/items/{item_numbers(workspace, judge_queue)[0]}")
        .json()["item"]
    )
    assert shown.keys() == predicted.keys()
    assert "its shape" not in visitor("Rob").get(f"/api/panel/{judge_queue.id}/{added}").text
    cast_votes(workspace, added, Rob="correct", Rose="correct")
    workspace.review.publish("novel")
    target = workspace.store.test_set("digits")
    labels = workspace.store.labels.read(target, "multi")
    assert labels.version == 2
    row = (labels.examples == 0) & (labels.classes == target.class_space.index(class_id))
    assert labels.states[row].tolist() == [LabelState.CORRECT]


def test_judged_class_is_refused(workspace, add):
    own = str(int(workspace.store.test_set("digits").labels[0]))
    reply = add(own).json()
    assert reply["message"] == "this class of the image is judged correct in the labels multi already"
    assert (reply["added"], reply["address"]) == (False, None)


def test_class_in_the_queue_is_refused_with_a_link(workspace, judge_queue, add):
    first = item_numbers(workspace, judge_queue)[0]
    reply = add(novel_class(workspace, 1)).json()
    assert reply["message"] == "this class of the image is being judged in the queue already"
    assert reply["address"] == f"/panel/{judge_queue.id}/{first}"
    cast_votes(workspace, first, Rita="wrong", Rob="wrong", Rose="wrong")
    assert "judged wrong in the queue" in add(novel_class(workspace, 1)).json()["message"]


def test_class_of_another_person_is_refused(workspace, judge_queue, add):
    added = add(novel_class(workspace)).json()["item"]["id"]
    reply = add(novel_class(workspace), name="Rob", key=f"{KEY}rob").json()
    assert (reply["added"], reply["address"]) == (False, f"/panel/{judge_queue.id}/{added}")


def test_unknown_class_is_one_clear_line(add):
    response = add("dragon")
    assert (response.status_code, "dragon" in response.json()["error"]) == (404, True)


def test_class_of_an_image_that_must_be_labeled_first_is_refused(workspace, add):
    """Otherwise the reply would tell whether the class is a label of the image."""
    workspace.review.queue_labels("digits", name="exam")
    for class_id in (novel_class(workspace), str(int(workspace.store.test_set("digits").labels[0]))):
        response = add(class_id)
        assert response.status_code == 403
        assert response.json()["error"] == "you still have to label this image in 'exam': label it there first"


def test_class_added_to_a_random_sample_joins_another_queue(workspace, visitor):
    workspace.review.queue_novel("digits", labels="multi", size=3, name="sample", overlap=2)
    sample = workspace.ledger.queues.named("sample")
    workspace.ledger.queues.assign(sample, [workspace.ledger.people.named(name) for name in ("Rita", "Rob")])
    item = workspace.ledger.items.with_id(item_numbers(workspace, sample)[0])
    target, pairs = workspace.store.test_set("digits"), workspace.ledger.items.pairs(sample)
    queued_classes = {class_id for example, class_id in pairs if example == item.example}
    queued_classes.add(str(int(target.labels[target.position(item.example)])))
    class_id = next(digit for digit in "0123456789" if digit not in queued_classes)
    form = {"item": item.id, "class_id": class_id, "key": KEY}
    reply = visitor("Rita").write(f"/api/queues/{sample.id}/classes", **form).json()
    assert (reply["added"], reply["item"], reply["message"]) == (True, None, "added to the queue added to sample")
    beside = workspace.ledger.queues.named("added to sample")
    assert (beside.purpose, beside.overlap, beside.question) == (Purpose.CENSUS, 2, Question.JUDGE)
    assert [person.name for person in workspace.ledger.queues.assigned(beside)] == ["Rita", "Rob"]
    assert len(workspace.ledger.items.pairs(sample)) == 3
    workspace.review.publish("sample")  # an item that was not drawn would be refused


def test_reviewer_adds_a_class_by_keyboard_and_takes_it_back(workspace, judge_queue, server, page_of):
    page = page_of(server, "Rita")
    page.goto(f"/judge/{judge_queue.id}")
    item = workspace.ledger.items.with_id(int(ready(page)))
    target = workspace.store.test_set("digits")
    class_id = str((int(target.labels[target.position(item.example)]) + 4) % 10)
    page.keyboard.press("a")
    expect(page.locator("#add-class-search")).to_be_focused()
    page.keyboard.type(class_id)
    expect(page.locator("#add-class-results [role=option]")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator("#add-class-reason")).to_be_focused()
    page.keyboard.type("c is a letter here, not an answer")
    page.keyboard.press("Enter")
    expect(page.locator("#notice")).to_contain_text("Your vote is “correct”")
    expect(page.locator("#items")).to_have_text("13")
    assert answers(workspace, "Rita") == {(item.example, class_id): "correct"}
    assert int(ready(page)) == item.id, "the question about the predicted class is still open"
    page.keyboard.press("z")
    expect(page.locator("#class-name")).to_have_text(class_id)
    saved(page)
    assert answers(workspace, "Rita") == {}
    answered(page, "w")
    saved(page)
    assert answers(workspace, "Rita") == {(item.example, class_id): "wrong"}


def test_reviewer_adds_a_class_by_mouse_and_sees_why_not(workspace, judge_queue, server, page_of):
    page = page_of(server, "Rita")
    item = item_numbers(workspace, judge_queue)[0]
    page.goto(f"/panel/{judge_queue.id}/{item}")
    ready(page)
    page.get_by_role("button", name="Add a class").click()
    label = str(int(workspace.store.test_set("digits").labels[0]))
    page.get_by_role("combobox", name="Class").fill(label)
    page.locator("#add-class-results [role=option]").click()
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("alert").filter(has_text="judged correct in the labels")).to_be_visible()
    page.get_by_role("combobox", name="Class").fill(novel_class(workspace, 1))
    page.locator("#add-class-results [role=option]").click()
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("link", name="Look at it")).to_have_attribute("href", f"/panel/{judge_queue.id}/{item}")
    assert faint_texts(page) == []
    page.get_by_role("combobox", name="Class").fill(novel_class(workspace))
    page.locator("#add-class-results [role=option]").click()
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("#add-class")).not_to_be_visible()
    assert list(answers(workspace, "Rita").values()) == ["correct"]


def test_dialog_closes_by_escape_without_adding_anything(workspace, judge_queue, server, page_of):
    page = page_of(server, "Rita")
    page.goto(f"/judge/{judge_queue.id}")
    ready(page)
    page.keyboard.press("a")
    page.keyboard.type("4")
    page.keyboard.press("Escape")
    expect(page.locator("#add-class-search")).to_have_value("")
    page.keyboard.press("Escape")
    expect(page.locator("#add-class")).not_to_be_visible()
    answered(page, "c")
    saved(page)
    assert list(answers(workspace, "Rita").values()) == ["correct"]
    assert workspace.ledger.queues.progress(judge_queue).items == 12
