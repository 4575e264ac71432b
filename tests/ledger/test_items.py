"""The images of a queue's items, their contents, and the items about an image."""

from judging import queue_of

from regrade.ledger import Ledger, NewItem, Question
from regrade.ledger.items import ItemImage


def test_item_images_return_the_stored_content(ledger):
    queue = ledger.queues.create("label", Question.LABEL, test_set="set")
    ledger.items.add(queue, [NewItem("2", content="ab"), NewItem("1")])
    assert ledger.items.images(queue) == (ItemImage("2", "", "ab"), ItemImage("1", "", None))


def test_store_contents_fills_missing_contents_only(ledger):
    queue = ledger.queues.create("novel", Question.JUDGE, test_set="set")
    second_queue = queue_of(ledger, "second", [("1", "cat")], test_set="set")
    ledger.items.add(queue, [NewItem("1", "cat"), NewItem("1", "dog"), NewItem("2", "cat", content="ab")])
    ledger.items.store_contents(queue, {"1": "cd", "2": "ef", "9": "gh"})
    ledger.items.store_contents(queue, {})
    assert [image.content for image in ledger.items.images(queue)] == ["cd", "cd", "ab"]
    assert [image.content for image in ledger.items.images(second_queue)] == [None]


def test_rows_do_not_include_contents(ledger, tmp_path):
    queue = ledger.queues.create("label", Question.LABEL, test_set="set")
    ledger.items.add(queue, [NewItem("1", content="ab")])
    assert not any("content" in row for row in ledger.rows())
    copy = Ledger.open(tmp_path / "copy.sqlite")
    copy.import_rows(ledger.rows())
    assert copy.items.images(copy.queues.named("label")) == (ItemImage("1", "", None),)
    copy.engine.dispose()


def test_items_about_image_searches_all_queues_of_the_test_set(ledger):
    first = queue_of(ledger, "first", [("1", "cat"), ("2", "cat"), ("1", "dog")], test_set="set", overlap=2)
    queue_of(ledger, "elsewhere", [("1", "cat")], test_set="another set")
    last = queue_of(ledger, "last", [("2",), ("1",)], question=Question.LABEL, test_set="set")
    queued = ledger.items.about_image("set", "1")
    assert [(image.queue, image.item.class_id, image.item.missing) for image in queued] == [
        (first, "cat", 2), (first, "dog", 2), (last, "", 1),
    ]  # fmt: skip
    assert ledger.items.about_image("set", "9") == ()
    assert ledger.items.about_image("no set", "1") == ()
