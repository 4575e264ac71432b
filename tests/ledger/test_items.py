"""The images of a queue's items, their contents, and the items about an image."""

from judging import people, queue_of, vote

from regrade.ledger import Ledger, NewItem, Question, image_mark, image_set
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


def test_label_queues_ask_about_images_of_several_test_sets(ledger):
    queue = ledger.queues.create("mixed", Question.LABEL, test_set="first")
    added = [NewItem("1"), NewItem("1", image_mark(queue, "second")), NewItem("2", "second", content="ab")]
    assert ledger.items.add(queue, added) == 3
    assert ledger.items.test_sets(queue) == ("first", "second")
    assert [image_set(queue, image.class_id) for image in ledger.items.images(queue)] == ["first", "second", "second"]
    assert ledger.items.images_without_content(queue) == ("1",)
    ledger.items.store_contents(queue, {"1": "cd"}, test_set="second")
    assert ledger.items.content_of(queue, "1") is None
    assert ledger.items.content_of(queue, "1", test_set="second") == "cd"
    assert [queued.item.class_id for queued in ledger.items.about_image("second", "1")] == ["second"]
    assert [queued.item.class_id for queued in ledger.items.about_image("first", "1")] == [""]


def test_classes_of_other_questions_are_no_test_sets(ledger):
    queue = ledger.queues.create("judged", Question.JUDGE, test_set="first")
    ledger.items.add(queue, [NewItem("1", "second")])
    assert ledger.items.test_sets(queue) == ("first",)
    assert image_set(queue, "second") == "first"
    assert ledger.items.about_image("second", "1") == ()


def test_voted_on_lists_every_image_with_the_first_vote(ledger):
    rita, rob = people(ledger, "Rita", "Rob")
    queue = queue_of(ledger, "judged", [("1", "cat"), ("2", "cat")], test_set="first")
    first = vote(ledger, queue, rita, ("1", "cat"), "correct")
    ledger.votes.retract(first.item_id, rita, key="rita-takes-it-back")
    vote(ledger, queue, rita, ("1", "cat"), "wrong")
    (voted,) = ledger.items.voted_on(rita)
    assert (voted.test_set, voted.image.example, voted.at) == ("first", "1", first.at)
    assert ledger.items.voted_on(rob) == ()
