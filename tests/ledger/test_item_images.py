"""The images of a queue's items, their contents, and the items about an image."""

from judging import queue_of

from regrade.ledger import Ledger, NewItem, Question
from regrade.ledger.item_images import ItemImage, item_images, items_about_image, store_contents


def test_item_images_return_the_stored_content(ledger):
    queue = ledger.open_queue("label", Question.LABEL, test_set="set")
    ledger.add_items(queue, [NewItem("2", content="ab"), NewItem("1")])
    assert item_images(ledger.engine, queue.id) == (ItemImage("2", "ab"), ItemImage("1", None))


def test_store_contents_fills_missing_contents_only(ledger):
    queue = ledger.open_queue("novel", Question.JUDGE, test_set="set")
    second_queue = queue_of(ledger, "second", [("1", "cat")], test_set="set")
    ledger.add_items(queue, [NewItem("1", "cat"), NewItem("1", "dog"), NewItem("2", "cat", content="ab")])
    store_contents(ledger.engine, queue.id, {"1": "cd", "2": "ef", "9": "gh"})
    store_contents(ledger.engine, queue.id, {})
    assert [image.content for image in item_images(ledger.engine, queue.id)] == ["cd", "cd", "ab"]
    assert [image.content for image in item_images(ledger.engine, second_queue.id)] == [None]


def test_rows_do_not_include_contents(ledger, tmp_path):
    queue = ledger.open_queue("label", Question.LABEL, test_set="set")
    ledger.add_items(queue, [NewItem("1", content="ab")])
    assert not any("content" in row for row in ledger.rows())
    copy = Ledger.open(tmp_path / "copy.sqlite")
    copy.import_rows(ledger.rows())
    assert item_images(copy.engine, copy.queue("label").id) == (ItemImage("1", None),)
    copy.engine.dispose()


def test_items_about_image_searches_all_queues_of_the_test_set(ledger):
    first = queue_of(ledger, "first", [("1", "cat"), ("2", "cat"), ("1", "dog")], test_set="set", overlap=2)
    queue_of(ledger, "elsewhere", [("1", "cat")], test_set="another set")
    last = queue_of(ledger, "last", [("2",), ("1",)], question=Question.LABEL, test_set="set")
    queued = items_about_image(ledger.engine, "set", "1")
    assert [(image.queue, image.item.class_id, image.item.missing) for image in queued] == [
        (first, "cat", 2), (first, "dog", 2), (last, "", 1),
    ]  # fmt: skip
    assert items_about_image(ledger.engine, "set", "9") == ()
    assert items_about_image(ledger.engine, "no set", "1") == ()
