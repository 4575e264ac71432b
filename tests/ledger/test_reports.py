"""Reports of unreadable images, and skipped items."""

import pytest

from regrade.core import UnknownName
from regrade.ledger import Ledger, NewItem, Question, UnreadableReports, VoteContent
from regrade.ledger.database import open_database


@pytest.fixture
def reports(ledger, clock):
    return UnreadableReports(ledger.engine, clock=clock)


@pytest.fixture
def items(ledger, queue):
    """A queue with four items that need three votes each."""
    ledger.items.add(queue, [NewItem(f"{number}.jpg", "n01") for number in range(4)])
    return queue


def answer_all(ledger, queue, person):
    """Answer every item a person is given, and return their images in order."""
    images = []
    while (item := ledger.items.next(queue, person)) is not None:
        images.append(item.example)
        ledger.votes.cast(item.id, person, VoteContent(f"{person.name} {item.id}", "correct"))
    return images


def test_reported_item_is_withheld_from_its_reporter_until_cleared(ledger, queue, panel, items, reports):
    first = ledger.items.next(items, panel[0])
    added = reports.add(first.id, panel[0], " half of it is gray ")
    assert (added.queue, added.example, added.person) == (queue.name, first.example, "Ada")
    assert added.text == "half of it is gray"
    assert first.example not in answer_all(ledger, queue, panel[0])
    assert first.example in answer_all(ledger, queue, panel[1])
    assert ledger.queues.pace(queue, panel[0]).left == 0
    reports.clear(added.id, panel[2])
    assert ledger.queues.pace(queue, panel[0]).left == 1
    assert answer_all(ledger, queue, panel[0]) == [first.example]


def test_reported_item_is_not_returned_by_take_back(ledger, queue, panel, items, reports):
    first = ledger.items.next(items, panel[0])
    ledger.votes.cast(first.id, panel[0], VoteContent("slip", "correct"))
    reports.add(first.id, panel[0])
    ledger.votes.retract(first.id, panel[0], key="undo")
    assert first.example not in answer_all(ledger, queue, panel[0])


def test_add_report_is_idempotent(ledger, panel, items, reports):
    item = ledger.items.next(items, panel[0])
    added = reports.add(item.id, panel[0])
    assert reports.add(item.id, panel[0], "still gray") == added
    reports.add(item.id, panel[1])
    assert [report.person for report in reports.open()] == ["Ada", "Bob"]
    assert ledger.queues.progress(items).reported == 1
    reports.clear(added.id, panel[2])
    reports.clear(added.id, panel[2])
    assert [report.person for report in reports.open()] == ["Bob"]
    assert reports.add(item.id, panel[0]).id != added.id


def test_reports_reject_unknown_ids(panel, reports):
    with pytest.raises(UnknownName, match="item"):
        reports.add(99, panel[0])
    with pytest.raises(UnknownName, match="report"):
        reports.clear(99, panel[0])


def test_import_adds_and_clears_reports(ledger, panel, items, reports, tmp_path):
    item = ledger.items.next(items, panel[0])
    added = reports.add(item.id, panel[0], "gray")
    copy = Ledger(open_database(tmp_path / "copy.sqlite"))
    copy.import_rows(ledger.rows())
    assert copy.rows() == ledger.rows()
    reports.clear(added.id, panel[1])
    copy.import_rows(ledger.rows())
    assert copy.rows() == ledger.rows()
    row = next(row for row in copy.rows() if row["kind"] == "report")
    assert (row["person"], row["text"], row["cleared_by"]) == ("Ada", "gray", "Bob")
    assert copy.reports.open() == ()
    copy.engine.dispose()


def test_return_skipped_brings_items_back(ledger, queue, panel, items):
    first = ledger.items.next(items, panel[0])
    ledger.items.skip(first.id, panel[0])
    ledger.items.skip(first.id, panel[0])
    assert first.example not in answer_all(ledger, queue, panel[0])
    assert ledger.items.count_skipped(queue, panel[0]) == 1
    assert ledger.queues.pace(queue, panel[0]).left == 1
    ledger.items.return_skipped(queue, panel[0])
    assert ledger.items.count_skipped(queue, panel[0]) == 0
    assert answer_all(ledger, queue, panel[0]) == [first.example]


def test_skip_ends_the_lease(ledger, panel):
    queue = ledger.queues.create("one", Question.JUDGE, test_set="val")
    ledger.items.add(queue, [NewItem("a.jpg", "n01")])
    item = ledger.items.next(queue, panel[0])
    assert ledger.items.next(queue, panel[1]) is None
    ledger.items.skip(item.id, panel[0])
    assert ledger.items.next(queue, panel[1]) == item
    ledger.votes.cast(item.id, panel[1], VoteContent("done", "correct"))
    assert ledger.items.count_skipped(queue, panel[0]) == 0


def test_retract_returns_a_skipped_item(ledger, queue, panel, items):
    first = ledger.items.next(items, panel[0])
    ledger.items.skip(first.id, panel[0])
    ledger.votes.cast(first.id, panel[0], VoteContent("from the panel", "correct"))
    ledger.votes.retract(first.id, panel[0], key="undo")
    assert ledger.items.next(queue, panel[0]).id == first.id
