"""The images of a queue's items and their contents."""

from judging import queue_of

from regrade.ledger import Ledger, NewItem, Question
from regrade.ledger.item_images import ItemImage, item_images, keep_contents


def test_item_images_keep_the_content_that_came_with_them(ledger):
    queue = ledger.open_queue("label", Question.LABEL, test_set="set")
    ledger.add_items(queue, [NewItem("2", content="ab"), NewItem("1")])
    assert item_images(ledger.engine, queue.id) == (ItemImage("2", "ab"), ItemImage("1", None))


def test_keep_contents_fills_what_is_missing_and_changes_nothing_else(ledger):
    queue = ledger.open_queue("novel", Question.JUDGE, test_set="set")
    other = queue_of(ledger, "other", [("1", "cat")], test_set="set")
    ledger.add_items(queue, [NewItem("1", "cat"), NewItem("1", "dog"), NewItem("2", "cat", content="ab")])
    keep_contents(ledger.engine, queue.id, {"1": "cd", "2": "ef", "9": "gh"})
    keep_contents(ledger.engine, queue.id, {})
    assert [one.content for one in item_images(ledger.engine, queue.id)] == ["cd", "cd", "ab"]
    assert [one.content for one in item_images(ledger.engine, other.id)] == [None]


def test_item_contents_are_no_part_of_an_export(ledger, tmp_path):
    queue = ledger.open_queue("label", Question.LABEL, test_set="set")
    ledger.add_items(queue, [NewItem("1", content="ab")])
    assert not any("content" in row for row in ledger.rows())
    copy = Ledger.open(tmp_path / "copy.sqlite")
    copy.read_back(ledger.rows())
    assert item_images(copy.engine, copy.queue("label").id) == (ItemImage("1", None),)
    copy.engine.dispose()
