"""Discussion in training: for people with a current answer to the item, the newest discussion first."""

import pytest
from judging import item_of, people, queue_of, vote

from regrade.core import InputError
from regrade.ledger import Mode, Question

IMAGES = [("a.jpg",), ("b.jpg",), ("c.jpg",)]


@pytest.fixture
def panel(ledger):
    return people(ledger, "Ada", "Bob")


@pytest.fixture
def queue(ledger):
    return queue_of(ledger, "learn", IMAGES, question=Question.LABEL, overlap=2, test_set="set", mode=Mode.TRAINING)


def texts(ledger, item, viewer):
    return [comment.text for comment in ledger.training_threads.of_item(item, viewer).comments]


def test_thread_is_for_people_with_an_answer(ledger, queue, panel):
    ada, bob = panel
    item = item_of(ledger, queue, "a.jpg")
    with pytest.raises(InputError, match="answer about this image first"):
        ledger.training_threads.comment(item, ada, "early")
    vote(ledger, queue, ada, ("a.jpg",), "fox")
    assert ledger.training_threads.comment(item, ada, "the tail").own == "fox"
    with pytest.raises(InputError, match="answer about this image first"):
        ledger.training_threads.of_item(item, bob)
    vote(ledger, queue, bob, ("a.jpg",), "dog")
    assert texts(ledger, item, bob) == texts(ledger, item, ada) == ["the tail"]
    assert ledger.training_threads.of_item(item, bob).own == "dog"


def test_thread_ends_with_the_answer_and_returns_with_another(ledger, queue, panel):
    ada, _ = panel
    item = item_of(ledger, queue, "a.jpg")
    vote(ledger, queue, ada, ("a.jpg",), "fox")
    ledger.training_threads.comment(item, ada, "the tail")
    ledger.votes.retract(item, ada, key="ada-takes-it-back")
    assert ledger.training_threads.of_queue(queue, ada) == ()
    with pytest.raises(InputError, match="answer about this image first"):
        ledger.training_threads.of_item(item, ada)
    vote(ledger, queue, ada, ("a.jpg",), "dog")
    assert [thread.own for thread in ledger.training_threads.of_queue(queue, ada)] == ["dog"]


def test_queue_lists_answered_items_with_comments_newest_first(ledger, queue, panel):
    ada, bob = panel
    for image in IMAGES:
        vote(ledger, queue, ada, image, "fox")
    for image in ("a.jpg", "b.jpg"):
        ledger.training_threads.comment(item_of(ledger, queue, image), ada, image)
    ledger.training_threads.comment(item_of(ledger, queue, "a.jpg"), ada, "again")
    listed = ledger.training_threads.of_queue(queue, ada)
    assert [thread.item.example for thread in listed] == ["a.jpg", "b.jpg"]
    assert [len(thread.comments) for thread in listed] == [2, 1]
    assert ledger.training_threads.of_queue(queue, bob) == ()
    assert ledger.problems() == ()
