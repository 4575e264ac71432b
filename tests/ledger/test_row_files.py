"""A ledger as a file: CSV, JSON and Parquet give back the same state, and what is not as it should be is one line."""

import csv
import json
import random
from datetime import UTC, datetime

import pytest
from sqlalchemy import insert, select

from regrade.core import FormatError, MismatchError
from regrade.ledger import (
    Ledger,
    Mode,
    NewItem,
    Question,
    Role,
    UnreadableReports,
    VoteContent,
    rows_as_file,
    rows_from_file,
)
from regrade.ledger.database import open_database, writing
from regrade.ledger.schema import (
    account,
    assignment,
    browser_session,
    guide_entry,
    invitation,
    metadata,
    one_time_link,
    secret,
    sign_in_attempts,
)

SUFFIXES = (".csv", ".json", ".parquet")
HARD = [
    "", " ", '"quoted", it says', "two\nlines\r\nand three", "=1+1", "null", "NaN", "Škoda 🐕 \u202e",
    "'; DROP TABLE vote; --", ",",
]  # fmt: skip


@pytest.fixture
def other(tmp_path, new_files):
    opened = Ledger(open_database(new_files.put(tmp_path / "other.sqlite")))
    yield opened
    opened.engine.dispose()


_PEOPLE = dict(zip(("Ada", "Bob", "Zoë", "=2", "O'Neil"), [*Role, Role.OWNER, Role.LABELER], strict=True))


def fill(ledger, votes):
    """Votes of all kinds by five people, with everything that texts can hold."""
    chance = random.Random(1)
    panel = [ledger.add_person(name, role) for name, role in _PEOPLE.items()]
    judge = ledger.open_queue("judge, all", Question.JUDGE, test_set="val", labels="real@1", overlap=5)
    label = ledger.open_queue("label", Question.LABEL, test_set="val", overlap=5, mode=Mode.TRAINING)
    kinds = ledger.open_queue("kinds", Question.MISTAKE, test_set="val", labels="real", overlap=5, model="timm:x.y")
    size = votes // 15 + 1
    for queue in (judge, label, kinds):
        ledger.add_items(queue, [NewItem(f"{n:05}.jpg", "" if queue is label else "0012", n % 3) for n in range(size)])
    cast = 0
    for queue in (judge, label, kinds):
        first = min(item.id for item in _items(ledger, queue))
        for number in range(size):
            for person in panel:
                if cast == votes:
                    break
                answer = {
                    "judge": chance.choice(["correct", "wrong"]),
                    "label": chance.choice(["", "n01", "=x"]),
                    "mistake": chance.choice(["spurious correlation", "fine-grained"]),
                }[queue.question.value]
                severity = "major" if queue is kinds else None
                seconds = chance.choice([None, 0.1 + 0.2, chance.random() * 100])
                ballot = VoteContent(f"{cast}", answer, severity, chance.choice(HARD), seconds=seconds)
                if ledger.decision(first + number) is None:
                    ledger.vote(first + number, person, ballot)
                cast += 1
    return panel, judge


def _items(ledger, queue):
    from regrade.ledger.schema import item

    with ledger.engine.connect() as connection:
        return connection.execute(select(item).where(item.c.queue_id == queue.id)).all()


@pytest.fixture
def lively(ledger):
    panel, judge = fill(ledger, 150)
    for number, item in enumerate(ledger.disputed(judge)):
        ledger.comment(item.id, panel[number % 5], HARD[2] + HARD[number % len(HARD)])
        ledger.lock(item.id, panel[0], why=HARD[number % len(HARD)])
    ledger.reopen(item.id, panel[1], why="once more")
    ledger.vote(item.id, panel[1], VoteContent("back", None, why="no idea"))
    for text in HARD:
        added = UnreadableReports(ledger.engine).add(item.id, panel[2], f"gray {text} half")
        UnreadableReports(ledger.engine).clear(added.id, panel[0])
    UnreadableReports(ledger.engine).add(item.id, panel[2])
    with writing(ledger.engine) as connection:
        connection.execute(insert(assignment).values(queue_id=judge.id, person_id=panel[2].id))
        before = None
        for text in HARD:
            entry = {
                "class_space": "imagenet-1k",
                "class": "n01",
                "text": text,
                "traits": "[]",
                "examples": "",
                "alike": text,
            }
            row = insert(guide_entry).values(
                **entry, why="", person_id=panel[0].id, replaces=before, at=datetime(2026, 1, 2, tzinfo=UTC)
            )
            before = connection.execute(row.returning(guide_entry.c.id)).scalar_one()
    return ledger


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_there_and_back(lively, other, tmp_path, suffix):
    rows = lively.rows()
    path = tmp_path / f"ledger{suffix}"
    path.write_bytes(rows_as_file(rows, suffix))
    assert {row["kind"] for row in rows} == {
        "person", "queue", "assignment", "item", "vote", "comment", "decision", "report", "guide"
    }  # fmt: skip
    assert {row["answer"] for row in rows if row["kind"] == "vote"} >= {None, "", "=x"}
    other.read_back(rows_from_file(path))
    assert other.rows() == rows
    assert other.read_back(rows_from_file(path)) == 0
    assert other.rows() == rows
    for queue in lively.queues():
        assert other.progress(other.queue(queue.name)) == lively.progress(queue)


def test_ten_thousand_votes_to_another_database(tmp_path, postgres):
    """From SQLite through a file to PostgreSQL: the same state."""
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS ten_thousand")
        connection.execute("CREATE DATABASE ten_thousand")
    first = Ledger(open_database(tmp_path / "first.sqlite"))
    second = Ledger(open_database(postgres.replace("/postgres?", "/ten_thousand?")))
    rows = many_rows(10_000)
    assert first.read_back(rows) == 10_000
    path = tmp_path / "votes.csv"
    path.write_bytes(rows_as_file(first.rows(), ".csv"))
    assert second.read_back(rows_from_file(path)) == 10_000
    assert second.rows() == first.rows() == rows
    assert second.progress(second.queue("q")) == first.progress(first.queue("q"))
    for ledger in (first, second):
        ledger.engine.dispose()


def many_rows(votes):
    """Rows of a ledger with so many votes, made without voting."""
    at = datetime(2026, 3, 4, 5, 6, 7, 89, tzinfo=UTC)
    rows = [{"kind": "person", "person": f"person {n}", "role": "reviewer", "at": at} for n in range(10)]
    rows.append({"kind": "queue", "queue": "q", "question": "judge", "test_set": "val", "labels": "real@1"})
    rows[-1] |= {"overlap": 10, "model": "", "mode": "examination", "at": at}
    place = [{"queue": "q", "example": f"{n:05}.jpg", "class": "n01"} for n in range(votes // 10)]
    rows += [{"kind": "item", **one, "stratum": 0, "needed": 10} for one in place]
    said = {"answer": "correct", "severity": None, "why": "", "at": at}
    for n in range(votes):
        key = {"key": f"k{n}", "reason": HARD[n % len(HARD)], "seconds": n / 7}
        rows.append({"kind": "vote", **place[n // 10], "person": f"person {n % 10}", **key, **said})
    for n, one in enumerate(place):
        reached = {"reached": "unanimously", "last_vote": f"k{10 * n + 9}", "person": None}
        rows.append({"kind": "decision", **one, **reached, **said})
    return rows


def test_secrets_stay(lively):
    """Nothing of accounts, invitations and secrets is in the rows: neither their columns nor their content."""
    person = lively.people()[0].id
    with writing(lively.engine) as connection:
        moment = datetime(2026, 1, 2, tzinfo=UTC)
        connection.execute(insert(account).values(person_id=person, password="$argon2id$XYZZY", stamp="STAMPXYZZY"))
        connection.execute(insert(invitation).values(digest="DIGESTXYZZY", person_id=person, until=moment))
        connection.execute(insert(secret).values(name="cookie", value="COOKIEXYZZY"))
        session = {"digest": "SESSIONXYZZY", "person_id": person, "stamp": "XYZZY", "begun": moment, "seen": moment}
        connection.execute(insert(browser_session).values(session))
        connection.execute(insert(one_time_link).values(digest="LINKXYZZY", until=moment))
        connection.execute(insert(sign_in_attempts).values(source="SOURCEXYZZY", count=1, last=moment))
    text = repr(lively.rows())
    assert "XYZZY" not in text
    for suffix in SUFFIXES:
        assert b"XYZZY" not in rows_as_file(lively.rows(), suffix)


def test_every_table_is_exported_or_left_out_on_purpose():
    known = {"person", "queue", "assignment", "item", "vote", "comment", "decision", "report", "guide_entry"}
    passing = {"block", "turn", "lease", "skip", "overlap_change"}  # whose turn it is, which no one needs elsewhere
    access = {"account", "invitation", "browser_session", "one_time_link", "sign_in_attempts", "secret"}
    assert {table.name for table in metadata.tables.values()} == known | passing | access | {"chain"}


class TestSpoiled:
    """Each is one line that names the row, and nothing of the file is kept."""

    @pytest.fixture
    def rows(self):
        return many_rows(20)

    @pytest.mark.parametrize(
        ("place", "change", "words"),
        [
            (0, {"kind": "cat"}, "row 1: a row of a ledger is a person"),
            (0, {"role": "king"}, "row 1, a person: role is one of owner"),
            (1, {"person": ""}, "row 2, a person: person is empty"),
            (0, {"at": "yesterday"}, "row 1, a person: at is a moment"),
            (0, {"at": datetime(2026, 1, 1)}, "row 1, a person: at is a moment with its zone"),
            (10, {"overlap": "many"}, "row 11, a queue: overlap is a whole number"),
            (10, {"overlap": 0}, "row 11, a queue: an item needs at least one vote"),
            (10, {"test_set": None}, "row 11, a queue: test_set is missing"),
            (10, {"mode": "exam"}, "row 11, a queue: mode is one of"),
            (11, {"queue": "none"}, "row 12: there is no queue 'none'"),
            (11, {"stratum": 2**40}, "row 12, a item: stratum is a whole number"),
            (13, {"example": "x.jpg"}, "row 14: there is no item 'q / x.jpg / n01'"),
            (13, {"person": "no one"}, "row 14: there is no person 'no one'"),
            (13, {"answer": "yes"}, "row 14: unknown answer 'yes'"),
            (13, {"answer": 4}, "row 14, a vote: answer is a text"),
            (13, {"severity": "major"}, "row 14: only a mistake"),
            (13, {"seconds": -1}, "row 14, a vote: seconds is a time"),
            (13, {"seconds": float("inf")}, "row 14, a vote: seconds is a time"),
            (13, {"seconds": 10**400}, "row 14, a vote: seconds is a time"),
            (13, {"seconds": 1e308}, "row 14, a vote: seconds is a time of 0 or more, at most a year"),
            (13, {"at": "0001-01-01T00:00:00+14:00"}, "row 14, a vote: at is in the year 1,"),
            (13, {"at": "9999-12-31T23:00:00-14:00"}, "row 14, a vote: at is in the year 9999,"),
            (13, {"reson": "because"}, "row 14, a vote: unknown column 'reson'; did you mean"),
            (0, {"answer": "wrong"}, "row 1, a person: unknown column 'answer'"),
            (0, {"kind": ["person"]}, "row 1: a row of a ledger is a person"),
            (13, {"key": "k" * 65}, "row 14, a vote: key has 65 letters"),
            (13, {"reason": "a\x00b"}, "row 14, a vote: reason holds a letter"),
            (33, {"last_vote": "gone"}, "row 34: there is no vote 'gone'"),
            (33, {"reached": "by magic"}, "row 34, a decision: reached is one of"),
            (33, {"answer": "maybe"}, "row 34: unknown answer 'maybe'"),
        ],
    )
    def test_rows(self, other, rows, place, change, words):
        rows[place] |= change
        with pytest.raises(FormatError, match="row") as told:
            other.read_back(rows)
        assert str(told.value).startswith(words) and "\n" not in str(told.value)
        assert other.rows() == []

    @pytest.mark.parametrize("name", ["reason", "why", "seconds"])
    def test_read_back_refuses_a_row_that_lacks_a_name(self, other, rows, name):
        """What may be empty was taken for empty."""
        del rows[13][name]
        with pytest.raises(FormatError, match=f"row 14, a vote: {name} is missing"):
            other.read_back(rows)

    @pytest.mark.parametrize(
        ("place", "change"),
        [(0, {"role": "labeler"}), (11, {"stratum": 7}), (13, {"answer": "unclear"}), (13, {"reason": "another"})],
    )
    def test_read_back_refuses_rows_that_contradict_each_other(self, other, rows, place, change):
        rows.append({**rows[place], **change})
        with pytest.raises(FormatError, match=rf"row \d+ has another {next(iter(change))} than row {place + 1}"):
            other.read_back(rows)
        assert other.rows() == []

    def test_read_back_refuses_another_answer_under_the_key_of_a_vote(self, other, rows):
        other.read_back(rows)
        before = other.rows()
        rows[13] |= {"answer": "unclear"}
        with pytest.raises(MismatchError, match=r"row 14: vote '.*' is here already, with another answer or place"):
            other.read_back(rows)
        assert other.rows() == before

    def test_the_same_row_twice_counts_once(self, other, rows):
        assert other.read_back([one for row in rows for one in (row, row)]) == 20
        assert len(other.rows()) == len(rows)

    @pytest.mark.parametrize(
        ("name", "content", "words"),
        [
            ("x.csv", "kind,at\nperson\n", "line 2 has 1 cell"),
            ("x.csv", "a,b\n1,2\n", "no column kind"),
            ("x.csv", "", "is empty"),
            ("x.json", "{}", "a list of rows"),
            ("x.json", "[1]", "row 1 is no object"),
            ("x.json", "[", "not valid JSON"),
            ("x.json", '[{"kind": "person", "kind": "vote"}]', "has the key 'kind' twice"),
            ("x.csv", 'kind,person\nperson,"Ada\nperson,Bob\n', "line 2 has a quote that is not closed"),
            ("x.csv", "kind,person,person\nperson,Ada,Bob\n", "column 'person' is there twice"),
            ("x.parquet", "PAR1", "cannot be read"),
            ("x.txt", "hello", ".csv, .json, .parquet"),
        ],
    )
    def test_files(self, tmp_path, name, content, words):
        (tmp_path / name).write_text(content)
        with pytest.raises(FormatError, match=words) as told:
            rows_from_file(tmp_path / name)
        assert "\n" not in str(told.value)

    def test_a_short_line_is_named(self, tmp_path, rows):
        path = tmp_path / "x.csv"
        lines = rows_as_file(rows[:12], ".csv").decode().splitlines(keepends=True)
        path.write_text("".join([*lines[:5], "person,short\n", *lines[5:]]))
        with pytest.raises(FormatError, match="line 6 has 2 cells"):
            rows_from_file(path)


def test_a_table_that_a_spreadsheet_saved(other, tmp_path):
    """Quotes go where they are not needed; what must be a text is an empty one, and formulas are data."""
    rows = many_rows(20)
    path, again = tmp_path / "x.csv", tmp_path / "y.csv"
    path.write_bytes(rows_as_file(rows, ".csv"))
    with path.open(newline="") as file, again.open("w", newline="") as out:
        csv.writer(out).writerows(csv.reader(file))
    assert other.read_back(rows_from_file(again)) == 20
    assert [row["reason"] for row in other.rows() if row["kind"] == "vote"] == [HARD[n % len(HARD)] for n in range(20)]


def test_json_has_a_row_a_line():
    text = rows_as_file(many_rows(20), ".json").decode()
    assert len(text.splitlines()) == len(json.loads(text)) + 2
