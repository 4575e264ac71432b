"""A ledger that an earlier version wrote opens with every vote."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from regrade.ledger import Ledger, NewItem, Purpose, Question, Role, VoteContent

WRITTEN_BEFORE = Path(__file__).parent / "written_before" / "ledger.sql"


@pytest.fixture
def ledger(tmp_path) -> Ledger:
    path = tmp_path / "ledger.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(WRITTEN_BEFORE.read_text(encoding="utf-8"))
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


def test_earlier_ledger_keeps_checking_foreign_keys(ledger):
    with ledger.engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1


def test_earlier_ledger_accepts_new_votes(ledger):
    queue, ben = ledger.queues.named("novel"), ledger.people.named("Ben")
    item = ledger.items.next(queue, ben)
    assert item is not None and item.example == "img-2"
    ledger.votes.cast(item.id, ben, VoteContent("a key of its own", "correct"))
    assert ledger.problems() == ()


def test_earlier_queues_get_their_purpose(ledger):
    """A judged queue gets it when it is published: only the workspace knows whether it was drawn at random."""
    queues = {queue.name: (queue.question, queue.purpose) for queue in ledger.queues.all()}
    assert queues == {
        "novel": (Question.JUDGE, None),
        "mistakes": (Question.MISTAKE, Purpose.CENSUS),
        "exam": (Question.LABEL, Purpose.CENSUS),
    }


def test_earlier_queues_in_postgres_get_their_purpose(postgres_database):
    place = postgres_database.renewed()
    ledger = Ledger.open(place)
    for question in (Question.JUDGE, Question.MISTAKE, Question.LABEL):
        ledger.queues.create(question.name, question, test_set="val", labels="real@1")
    with ledger.engine.connect() as connection:
        connection.exec_driver_sql("ALTER TABLE queue DROP COLUMN purpose, DROP COLUMN build")
        connection.exec_driver_sql("DROP TABLE worker_link, worker_event, proposal, proposal_link")
        connection.exec_driver_sql("ALTER TABLE person DROP CONSTRAINT ck_person_role")
        check = "CHECK (role IN ('owner', 'reviewer', 'labeler'))"
        connection.exec_driver_sql(f"ALTER TABLE person ADD CONSTRAINT ck_person_role {check}")
        connection.exec_driver_sql("ALTER TABLE queue ALTER COLUMN question TYPE VARCHAR(10)")
        check = "CHECK (question IN ('judge', 'label', 'mistake'))"
        connection.exec_driver_sql(f"ALTER TABLE queue ADD CONSTRAINT ck_queue_question {check}")
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0007'")
    ledger.engine.dispose()
    migrated = Ledger.open(place)
    purposes = {queue.name: queue.purpose for queue in migrated.queues.all()}
    assert purposes == {"judge": None, "mistake": Purpose.CENSUS, "label": Purpose.CENSUS}
    assert migrated.people.add("a worker", Role.WORKER).role is Role.WORKER
    assert migrated.problems() == ()
    migrated.engine.dispose()


def test_ledger_before_proposals_gets_them(tmp_path):
    """The schema of revision 0009: everything but the tables of proposals and of links for them."""
    path = tmp_path / "ledger.sqlite"
    ledger = Ledger.open(path)
    ada = ledger.people.add("Ada", Role.REVIEWER)
    queue = ledger.queues.create("novel", Question.JUDGE, test_set="val", labels="real@1")
    ledger.items.add(queue, [NewItem("img-1", "cat")])
    item = ledger.items.next(queue, ada)
    assert item is not None
    ledger.votes.cast(item.id, ada, VoteContent("the first key", "correct"))
    before = ledger.rows()
    ledger.engine.dispose()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE proposal")
        connection.execute("DROP TABLE proposal_link")
        connection.execute("UPDATE alembic_version SET version_num = '0009'")
    migrated = Ledger.open(path)
    assert migrated.rows() == before and migrated.problems() == ()
    migrated.proposals.add_class(queue, NewItem("img-1", "dog"), ada, "both are there")
    assert migrated.proposals.queue_of_link(migrated.proposals.new_link(queue)) == queue
    assert migrated.problems() == ()
    migrated.engine.dispose()
