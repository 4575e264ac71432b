"""Taking a ledger along: what is read back is the same state, and reading twice adds nothing."""

import random

import pytest

from regrade.core import FormatError, MismatchError
from regrade.ledger import Ledger, NewItem, Question, VoteContent
from regrade.ledger.database import open_database


@pytest.fixture
def other(tmp_path, new_files):
    opened = Ledger(open_database(new_files.put(tmp_path / "other.sqlite")))
    yield opened
    opened.engine.dispose()


@pytest.fixture
def lively(ledger, queue, panel):
    """A ledger in which people vote, change their votes, take them back, discuss, decide and reopen."""
    chance = random.Random(0)
    ledger.add_items(queue, [NewItem(f"{n}.jpg", "n01", stratum=n % 3) for n in range(40)])
    for person in panel:
        while (item := ledger.next_item(queue, person)) is not None and chance.random() < 0.97:
            answer = chance.choice(["correct", "correct", "wrong", "unclear"])
            ledger.vote(item.id, person, VoteContent(f"{person.name} {item.id}", answer, seconds=chance.random()))
            if chance.random() < 0.2 and ledger.decision(item.id) is None:
                ledger.vote(item.id, person, VoteContent(f"{person.name} {item.id} b", "wrong", why="slip"))
    disputed = ledger.disputed(queue)
    for item in disputed[::2]:
        ledger.comment(item.id, panel[0], f"of {item.example}")
        ledger.lock(item.id, panel[1], why="talked")
    ledger.reopen(disputed[0].id, panel[2], why="once more")
    return ledger


def test_read_back_is_the_same_state(lively, queue, other):
    rows = lively.rows()
    votes = sum(row["kind"] == "vote" for row in rows)
    assert votes > 60
    assert other.read_back(rows) == votes
    assert other.rows() == rows
    assert other.progress(other.queue("novel")) == lively.progress(queue)
    assert [item.example for item in other.disputed(other.queue("novel"))] == [
        item.example for item in lively.disputed(queue)
    ]


def test_reading_twice_adds_nothing(lively, other):
    rows = lively.rows()
    other.read_back(rows)
    assert other.read_back(rows) == 0
    assert other.rows() == rows
    assert lively.read_back(rows) == 0
    assert lively.rows() == rows


def test_two_halves_join(lively, other):
    """A ledger that went on elsewhere comes home: its new votes are added to what is here."""
    rows = lively.rows()
    votes = [row for row in rows if row["kind"] == "vote"]
    early = [row for row in rows if row["kind"] in ("person", "queue", "item")] + votes[:30]
    assert other.read_back(early) == 30
    assert other.read_back(rows) == len(votes) - 30
    assert other.rows() == rows


def test_a_queue_that_asks_something_else(lively, other):
    other.open_queue("novel", Question.LABEL, test_set="val")
    with pytest.raises(MismatchError, match="asks something else"):
        other.read_back(lively.rows())
    assert other.people() == ()


def test_rows_of_something_else(other):
    with pytest.raises(FormatError, match="not a 'cat'"):
        other.read_back([{"kind": "cat"}])


def test_a_decision_without_a_vote_that_stands_has_no_authors(ledger, queue, panel, other):
    """No ledger writes such rows, but a file may hold them."""
    ledger.add_items(queue, [NewItem("a.jpg", "n01")])
    item = ledger.next_item(queue, panel[0])
    ledger.vote(item.id, panel[0], VoteContent("said", "correct"))
    ledger.vote(item.id, panel[0], VoteContent("back", None, why="slip"))
    place = {"queue": queue.name, "example": "a.jpg", "class": "n01"}
    decided = {"answer": "correct", "severity": None, "reached": "unanimously", "why": "", "last_vote": "said"}
    row = {"kind": "decision", **place, "person": None, **decided, "at": queue.opened}
    other.read_back([*ledger.rows(), row])
    (outcome,) = other.outcomes(other.queue(queue.name))
    assert (outcome.answer, outcome.by) == ("correct", ())
