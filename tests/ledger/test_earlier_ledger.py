"""A ledger that an earlier version wrote opens with every vote."""

import sqlite3
from pathlib import Path

import pytest

from regrade.ledger import Ledger, VoteContent

WRITTEN_BEFORE = Path(__file__).parent / "written_before" / "ledger.sql"


@pytest.fixture
def ledger(tmp_path) -> Ledger:
    path = tmp_path / "ledger.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(WRITTEN_BEFORE.read_text(encoding="utf-8"))
    connection.close()
    return Ledger.open(path)


def test_earlier_ledger_keeps_every_row(ledger):
    by_kind = {}
    for row in ledger.rows():
        by_kind.setdefault(row["kind"], []).append(row)
    assert {kind: len(rows) for kind, rows in by_kind.items()} == {
        "person": 3, "queue": 3, "item": 4, "vote": 7, "comment": 1, "decision": 2,
    }  # fmt: skip
    answers = [(row["example"], row["person"], row["answer"]) for row in by_kind["vote"]]
    assert answers == [
        ("img-1", "Ada", "correct"),
        ("img-1", "Ben", "wrong"),
        ("img-1", "Ben", "correct"),
        ("img-2", "Ada", "unclear"),
        ("img-2", "Ada", None),
        ("img-3", "Cleo", "fine-grained"),
        ("img-4", "Cleo", "cat"),
    ]


def test_earlier_ledger_passes_its_integrity_check(ledger):
    assert ledger.problems() == ()


def test_earlier_ledger_accepts_new_votes(ledger):
    queue, ben = ledger.queues.named("novel"), ledger.people.named("Ben")
    item = ledger.items.next(queue, ben)
    assert item is not None and item.example == "img-2"
    ledger.votes.cast(item.id, ben, VoteContent("a key of its own", "correct"))
    assert ledger.problems() == ()
