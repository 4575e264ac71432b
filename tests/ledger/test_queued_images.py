"""Where people are asked about a image."""

from judging import queue_of

from regrade.ledger import Question
from regrade.ledger.queued_images import asked_about


def test_items_about_a_image_in_the_queues_of_its_set(ledger):
    first = queue_of(ledger, "first", [("1", "cat"), ("2", "cat"), ("1", "dog")], test_set="set", overlap=2)
    queue_of(ledger, "elsewhere", [("1", "cat")], test_set="another set")
    last = queue_of(ledger, "last", [("2",), ("1",)], question=Question.LABEL, test_set="set")
    found = asked_about(ledger.engine, "set", "1")
    assert [(one.queue, one.item.class_id, one.item.missing) for one in found] == [
        (first, "cat", 2), (first, "dog", 2), (last, "", 1),
    ]  # fmt: skip
    assert asked_about(ledger.engine, "set", "9") == ()
    assert asked_about(ledger.engine, "no set", "1") == ()
