"""Import of rows restores the same state and is idempotent."""

import random

import pytest
from judging import disputed_items

from regrade.core import FormatError, MismatchError
from regrade.ledger import Ledger, NewItem, Purpose, Question, VoteContent
from regrade.ledger.database import open_database


@pytest.fixture
def copy(tmp_path, new_files):
    """An empty ledger to import into."""
    opened = Ledger(open_database(new_files.put(tmp_path / "copy.sqlite")))
    yield opened
    opened.engine.dispose()


@pytest.fixture
def lively(ledger, queue, panel):
    """A ledger in which people vote, change their votes, take them back, discuss, decide and reopen."""
    chance = random.Random(0)
    ledger.items.add(queue, [NewItem(f"{n}.jpg", "n01", stratum=n % 3) for n in range(40)])
    for person in panel:
        while (item := ledger.items.next(queue, person)) is not None and chance.random() < 0.97:
            answer = chance.choice(["correct", "correct", "wrong", "unclear"])
            ledger.votes.cast(item.id, person, VoteContent(f"{person.name} {item.id}", answer, seconds=chance.random()))
            if chance.random() < 0.2 and ledger.decisions.current(item.id) is None:
                ledger.votes.cast(item.id, person, VoteContent(f"{person.name} {item.id} b", "wrong", why="slip"))
    disputed = disputed_items(ledger, queue)
    for item in disputed[::2]:
        ledger.discussions.comment(item.id, panel[0], f"of {item.example}")
        ledger.decisions.lock(item.id, panel[1], why="talked")
    ledger.decisions.reopen(disputed[0].id, panel[2], why="once more")
    return ledger


def test_import_restores_the_same_state(lively, queue, copy):
    rows = lively.rows()
    votes = sum(row["kind"] == "vote" for row in rows)
    assert votes > 60
    assert copy.import_rows(rows) == votes
    assert copy.rows() == rows
    assert copy.queues.progress(copy.queues.named("novel")) == lively.queues.progress(queue)
    disputed = [item.example for item in disputed_items(lively, queue)]
    assert [item.example for item in disputed_items(copy, copy.queues.named("novel"))] == disputed


def test_import_is_idempotent(lively, copy):
    rows = lively.rows()
    copy.import_rows(rows)
    assert copy.import_rows(rows) == 0
    assert copy.rows() == rows
    assert lively.import_rows(rows) == 0
    assert lively.rows() == rows


def test_import_adds_later_votes_to_earlier_ones(lively, copy):
    """Importing a ledger again adds only its new votes."""
    rows = lively.rows()
    votes = [row for row in rows if row["kind"] == "vote"]
    early = [row for row in rows if row["kind"] in ("person", "queue", "item")] + votes[:30]
    assert copy.import_rows(early) == 30
    assert copy.import_rows(rows) == len(votes) - 30
    assert copy.rows() == rows


def test_import_rejects_a_queue_with_another_question(lively, copy):
    copy.queues.create("novel", Question.LABEL, test_set="val")
    with pytest.raises(MismatchError, match="with another question"):
        copy.import_rows(lively.rows())
    assert copy.people.all() == ()


def test_import_rejects_a_queue_with_another_purpose(lively, copy):
    queue = lively.queues.all()[0]
    options = {"test_set": queue.test_set, "labels": queue.labels, "model": queue.model, "mode": queue.mode}
    copy.queues.create(queue.name, queue.question, **options, purpose=Purpose.RANDOM_SAMPLE)
    with pytest.raises(MismatchError, match="with another purpose"):
        copy.import_rows(lively.rows())


def test_import_reads_files_without_purposes(lively, copy):
    """An earlier version wrote no purposes."""
    rows = [{name: value for name, value in row.items() if name != "purpose"} for row in lively.rows()]
    copy.import_rows(rows)
    assert {queue.purpose for queue in copy.queues.all()} == {None}
    copy.import_rows(lively.rows())


def test_import_rejects_an_unknown_kind(copy):
    with pytest.raises(FormatError, match="not 'cat'"):
        copy.import_rows([{"kind": "cat"}])


def test_current_decisions_without_current_votes_have_no_authors(ledger, queue, panel, copy):
    """No ledger writes such rows, but a file may contain them."""
    ledger.items.add(queue, [NewItem("a.jpg", "n01")])
    item = ledger.items.next(queue, panel[0])
    ledger.votes.cast(item.id, panel[0], VoteContent("said", "correct"))
    ledger.votes.cast(item.id, panel[0], VoteContent("back", None, why="slip"))
    place = {"queue": queue.name, "example": "a.jpg", "class": "n01"}
    decision = {"answer": "correct", "severity": None, "reached": "unanimously", "why": "", "last_vote": "said"}
    row = {"kind": "decision", **place, "person": None, **decision, "at": queue.opened}
    copy.import_rows([*ledger.rows(), row])
    (current,) = copy.decisions.of_queue(copy.queues.named(queue.name))
    assert (current.answer, current.by) == ("correct", ())
