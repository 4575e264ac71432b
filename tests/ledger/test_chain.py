"""The hash chain and the schema checks detect rows and tables that were changed by bypassing the ledger."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import DatabaseError

from regrade.ledger import GuideText, Ledger, NewItem, Question, Role, VoteContent
from regrade.ledger.chain import ChainLink, link_everything
from regrade.ledger.database import writing
from regrade.ledger.schema import APPEND_ONLY, chain


def fill(ledger: Ledger) -> Ledger:
    """Add votes, a comment, a decision and a guide entry to a ledger."""
    panel = [ledger.people.add(name, Role.REVIEWER) for name in ("Ada", "Bob", "Cleo")]
    queue = ledger.queues.create("novel", Question.JUDGE, test_set="val", labels="real@1", overlap=3)
    ledger.items.add(queue, [NewItem(f"{number}.jpg", "cat") for number in range(3)])
    item = ledger.items.next(queue, panel[0])
    for person, answer in zip(panel, ("correct", "wrong", "correct"), strict=True):
        ledger.votes.cast(
            item.id, person, VoteContent(f"first of {person.name}", answer, seconds=1.25, reason="a tail")
        )
    ledger.discussions.comment(item.id, panel[1], "look at the tail")
    ledger.decisions.lock(item.id, panel[0], why="all agree now")
    ledger.guide.write("toys", "ball", GuideText("round"), panel[0], replaces=None)
    return ledger


@pytest.fixture
def filled(ledger):
    return fill(ledger)


def chain_problems(ledger: Ledger, **options) -> list[str]:
    """The problems of a ledger, except the triggers that a test has removed."""
    return [problem for problem in ledger.problems(**options) if "trigger" not in problem]


def tamper(ledger: Ledger, *statements: str) -> None:
    """Remove the triggers that protect a ledger and run SQL statements."""
    with ledger.engine.begin() as connection:
        for table in (*(table.name for table in APPEND_ONLY), "chain"):
            if connection.dialect.name == "postgresql":
                connection.execute(text(f"ALTER TABLE {table} DISABLE TRIGGER USER"))
            else:
                for kind in ("update", "delete", "replacement"):
                    connection.execute(text(f"DROP TRIGGER {table}_no_{kind}"))
        for statement in statements:
            connection.execute(text(statement))


def test_problems_is_empty_for_an_untouched_ledger(filled):
    assert filled.problems() == ()
    assert filled.last_link().position == 6


@pytest.mark.parametrize("seconds", [None, 0, 0.0, -0.0, 3, 2.0, 1e-300, 0.1, 123456789.0])
def test_chain_is_valid_for_any_vote_time(ledger, panel, queue, seconds):
    ledger.items.add(queue, [NewItem("a.jpg", "cat")])
    ledger.votes.cast(1, panel[0], VoteContent("only", "correct", seconds=seconds))
    assert ledger.problems() == ()


@pytest.mark.parametrize("reason", ["'", '"', "\\", "%s %", "; COMMIT", "[local]", "é 猫 😀", "\n\t", "{kind}"])
def test_chain_is_valid_for_any_text_of_a_vote(ledger, panel, queue, reason):
    ledger.items.add(queue, [NewItem(f"{reason}.jpg", "cat")])
    ledger.votes.cast(1, panel[0], VoteContent("only", "correct", reason=reason))
    assert ledger.problems() == ()


def test_vote_is_linked_before_the_decision_that_follows_from_it(ledger, panel, queue):
    ledger.items.add(queue, [NewItem("a.jpg", "cat")])
    for person in panel:
        ledger.votes.cast(1, person, VoteContent(person.name, "correct"))
    ledger.votes.retract(1, panel[0], key="undo", why="looked again")
    with ledger.engine.connect() as connection:
        links = connection.execute(select(chain.c.position, chain.c.kind).order_by(chain.c.position)).all()
    kinds = ["vote", "vote", "vote", "decision", "decision", "vote"]
    assert [tuple(link) for link in links] == list(enumerate(kinds, 1))
    assert ledger.problems() == ()


def test_problems_is_empty_for_an_empty_ledger(ledger):
    assert ledger.problems() == ()
    assert ledger.last_link().position == 0


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE vote SET answer = 'correct' WHERE id = 2", "link 2, vote 2: its row, "),
        ("UPDATE vote SET seconds = 1.26 WHERE id = 1", "link 1, vote 1: its row, "),
        ("UPDATE comment SET text = 'look'", "link 4, comment 1: its row, "),
        ("UPDATE decision SET why = ''", "link 5, decision 1: its row, "),
        ("UPDATE guide_entry SET text = 'square'", "link 6, guide_entry 1: its row, "),
        (
            "UPDATE vote SET at = '2026-01-01T00:00:00.000000Z' WHERE id = 3",
            "link 3, vote 3: its row, ",
        ),
        ("UPDATE item SET example = example || 'x'", "link 1, vote 1: its row, "),
        ("UPDATE item SET class = 'dog'", "link 1, vote 1: its row, "),
        ("UPDATE person SET name = 'Eve' WHERE id = 2", "link 2, vote 2: its row, "),
        ("UPDATE queue SET labels = 'real@2'", "link 1, vote 1: its row, "),
        ("UPDATE queue SET mode = 'training'", "link 1, vote 1: its row, "),
        ("DELETE FROM comment", "link 4, comment 1: its row was removed"),
        ("DELETE FROM chain WHERE position = 4", "link 5, decision 1: link 4 before it was removed"),
        ("UPDATE chain SET hash = '00' WHERE position = 3", "link 3, vote 3: its row, "),
        (
            "INSERT INTO comment (id, item_id, person_id, text, at) "
            "VALUES (9, 1, 1, 'mine', '2026-01-01T00:00:00.000000Z')",
            "1 rows have no link, for instance comment 9",
        ),
    ],
)
def test_chain_names_the_first_row_that_was_tampered_with(filled, statement, problem):
    tamper(filled, statement)
    assert any(problem in line for line in chain_problems(filled)), chain_problems(filled)
    assert any("trigger vote" in line for line in filled.problems())


def test_truncated_chain_is_detected_by_a_noted_link(filled):
    noted = filled.last_link()
    tamper(filled, "DELETE FROM guide_entry", "DELETE FROM chain WHERE position = 6")
    assert chain_problems(filled) == []
    assert any("link 6, which was noted" in line for line in chain_problems(filled, noted=[noted]))


def test_problems_accepts_a_noted_link_that_exists(filled):
    noted = filled.last_link()
    filled.discussions.comment(1, filled.people.named("Cleo"), "more")
    assert filled.problems(noted=[noted]) == ()
    assert filled.problems(noted=[ChainLink(3, "another")]) != ()


def test_import_extends_the_chain(filled, tmp_path, new_files):
    copy = Ledger.open(new_files.put(tmp_path / "copy.sqlite"))
    copy.import_rows(filled.rows())
    assert copy.problems() == ()
    assert copy.last_link().position == filled.last_link().position
    copy.import_rows(filled.rows())
    assert copy.last_link().position == filled.last_link().position
    copy.engine.dispose()


def test_link_everything_orders_rows_by_time(filled):
    tamper(filled, "DELETE FROM chain")
    with writing(filled.engine) as connection:
        link_everything(connection)
    assert chain_problems(filled) == []


def test_chain_is_valid_after_concurrent_votes(ledger, queue):
    people = [ledger.people.add(f"P{number}", Role.REVIEWER) for number in range(8)]
    ledger.items.add(queue, [NewItem(f"{number}.jpg", "cat") for number in range(12)])

    def work(person):
        for number in range(12):
            item = ledger.items.next(queue, person)
            if item is not None:
                ledger.votes.cast(item.id, person, VoteContent(f"{person.name} {number}", "correct"))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, people))
    assert ledger.problems() == ()
    assert ledger.last_link().position == 12 * 3 + 12  # three votes and a unanimous decision each


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT OR REPLACE INTO vote SELECT id, key, item_id, person_id, replaces, 'correct', severity, reason, why, "
        "seconds, at FROM vote WHERE id = 2",
        "INSERT OR REPLACE INTO vote (key, item_id, person_id, answer, reason, why, at) "
        "SELECT key, item_id, person_id, 'correct', reason, why, at FROM vote WHERE id = 2",
        "INSERT OR REPLACE INTO vote (key, item_id, person_id, answer, reason, why, at) "
        "SELECT 'new', item_id, person_id, 'correct', reason, why, at FROM vote WHERE id = 2",
        "REPLACE INTO comment SELECT id, item_id, person_id, 'nothing', at FROM comment",
        "REPLACE INTO decision SELECT id, item_id, replaces, 'wrong', severity, reached, person_id, why, last_vote, at "
        "FROM decision",
        "REPLACE INTO chain SELECT position, kind, row_id, '00' FROM chain",
        "INSERT INTO vote SELECT * FROM vote WHERE true ON CONFLICT DO UPDATE SET answer = 'correct'",
        "UPDATE OR REPLACE vote SET answer = 'correct'",
    ],
)
def test_plain_sqlite_client_cannot_replace_a_row(tmp_path, new_files, statement):
    ledger = fill(Ledger.open(new_files.put(tmp_path / "ledger.sqlite")))
    with (
        closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as client,
        pytest.raises(sqlite3.IntegrityError, match="append-only"),
    ):
        client.execute(statement)
    assert ledger.problems() == ()
    ledger.engine.dispose()


def test_upsert_cannot_change_a_row(filled):
    statement = "INSERT INTO vote SELECT * FROM vote WHERE true ON CONFLICT (id) DO UPDATE SET answer = 'correct'"
    with pytest.raises(DatabaseError, match="append-only"), filled.engine.begin() as connection:
        connection.execute(text(statement))


@pytest.mark.parametrize(
    ("statements", "problem"),
    [
        (("DROP TRIGGER vote_no_update",), "the trigger vote_no_update is missing"),
        (
            ("DROP TRIGGER vote_no_update", "CREATE TRIGGER vote_no_update BEFORE UPDATE ON vote BEGIN SELECT 1; END"),
            "the trigger vote_no_update was changed",
        ),
        (
            ("CREATE TRIGGER mine AFTER INSERT ON vote BEGIN SELECT 1; END",),
            "the trigger mine is not part of the ledger",
        ),
        (("DROP INDEX uq_vote_first",), "the index uq_vote_first is missing"),
        (
            ("DROP INDEX uq_vote_first", "CREATE UNIQUE INDEX uq_vote_first ON vote (id)"),
            "the index uq_vote_first was changed",
        ),
        (("CREATE VIEW votes AS SELECT * FROM vote",), "the view votes is not part of the ledger"),
        (("CREATE TABLE extra (id INTEGER)",), "the table extra is not part of the ledger"),
        (("ALTER TABLE comment ADD COLUMN hidden INTEGER",), "the table comment was changed"),
        (("ALTER TABLE comment RENAME COLUMN at TO moment",), "the table comment was changed"),
        (("ANALYZE",), None),
    ],
)
def test_problems_names_changes_of_the_schema(tmp_path, new_files, statements, problem):
    ledger = fill(Ledger.open(new_files.put(tmp_path / "ledger.sqlite")))
    with ledger.engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))
    problems = [line for line in ledger.problems() if "it is damaged" not in line]  # rows without a column
    assert problems == ([] if problem is None else [problem])
    ledger.engine.dispose()


POSTGRES_CHANGES = {
    "ALTER TABLE comment ADD COLUMN hidden INTEGER": "the column comment.hidden is not part of the ledger",
    "ALTER TABLE comment DROP COLUMN text": "the column comment.text is missing",
    "ALTER TABLE vote ALTER COLUMN item_id DROP NOT NULL": "the column vote.item_id was changed",
    "ALTER TABLE vote ALTER COLUMN seconds TYPE text": "the column vote.seconds was changed",
    "DROP INDEX uq_vote_first": "the index uq_vote_first of vote is missing",
    "CREATE INDEX mine ON vote (answer)": "the index mine of vote is not part of the ledger",
    "ALTER TABLE vote DROP CONSTRAINT fk_vote_item_id": "the foreign key fk_vote_item_id of vote is missing",
    "ALTER TABLE item DROP CONSTRAINT uq_item_queue_id_place":
        "the constraint uq_item_queue_id_place of item is missing",
    "ALTER TABLE queue DROP CONSTRAINT ck_queue_overlap": "the check ck_queue_overlap of queue is missing",
    "ALTER TABLE queue DROP CONSTRAINT ck_queue_overlap, ADD CONSTRAINT ck_queue_overlap CHECK (overlap >= 0)":
        "the check ck_queue_overlap of queue was changed",
    "ALTER TABLE comment DROP CONSTRAINT pk_comment": "the primary key of comment was changed",
    "CREATE RULE mine AS ON INSERT TO comment DO INSTEAD NOTHING": "the rule mine of comment is not part of the ledger",
    "DROP TABLE skip": "the table skip is missing",
}  # fmt: skip


@pytest.mark.parametrize("statement", POSTGRES_CHANGES)
def test_problems_names_changes_of_the_postgres_schema(postgres_database, statement):
    ledger = Ledger.open(postgres_database.renewed())
    assert ledger.problems() == ()
    with ledger.engine.connect() as connection:
        connection.execute(text(statement))
    assert POSTGRES_CHANGES[statement] in ledger.problems()
    ledger.engine.dispose()


def test_problems_ignores_unknown_tables_in_postgres(postgres_database):
    ledger = Ledger.open(postgres_database.renewed())
    with ledger.engine.connect() as connection:
        connection.execute(text("CREATE TABLE theirs (id INTEGER)"))
    assert ledger.problems() == ()
    ledger.engine.dispose()


def test_problems_names_a_missing_table(tmp_path):
    ledger = fill(Ledger.open(tmp_path / "ledger.sqlite"))
    with ledger.engine.begin() as connection:
        connection.execute(text("DROP TABLE skip"))
    assert set(ledger.problems()) == {"the table skip is missing", "the index ix_skip_person is missing"}
    ledger.engine.dispose()
