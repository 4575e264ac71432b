"""Export to and import from CSV, JSON and Parquet files; invalid files and rows are rejected with one line."""

import csv
import json
import random
from datetime import UTC, datetime

import pytest
from judging import disputed_items
from sqlalchemy import insert, select

from regrade.core import FormatError, MismatchError
from regrade.ledger import (
    Claim,
    Ledger,
    Mode,
    NewItem,
    Question,
    Role,
    VoteContent,
    WorkerEvent,
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
    proposal_link,
    secret,
    sign_in_attempts,
    worker_link,
)

SUFFIXES = (".csv", ".json", ".parquet")
HARD = [
    "", " ", '"quoted", it says', "two\nlines\r\nand three", "=1+1", "null", "NaN", "Škoda 🐕 \u202e",
    "'; DROP TABLE vote; --", ",",
]  # fmt: skip


@pytest.fixture
def copy(tmp_path, new_files):
    """An empty ledger to import into."""
    opened = Ledger(open_database(new_files.put(tmp_path / "copy.sqlite")))
    yield opened
    opened.engine.dispose()


_PEOPLE = dict(
    zip(
        ("Ada", "Bob", "Zoë", "2=", "O'Neil"),
        [Role.OWNER, Role.REVIEWER, Role.LABELER, Role.OWNER, Role.LABELER],
        strict=True,
    )
)


def fill(ledger, votes):
    """Add votes of all kinds by five people, with difficult texts."""
    chance = random.Random(1)
    panel = [ledger.people.add(name, role) for name, role in _PEOPLE.items()]
    judge = ledger.queues.create("judge, all", Question.JUDGE, test_set="val", labels="real@1", overlap=5)
    label = ledger.queues.create("label", Question.LABEL, test_set="val", overlap=5, mode=Mode.TRAINING)
    kinds = ledger.queues.create("kinds", Question.MISTAKE, test_set="val", labels="real", overlap=5, model="timm:x.y")
    size = votes // 15 + 1
    for queue in (judge, label, kinds):
        ledger.items.add(queue, [NewItem(f"{n:05}.jpg", "" if queue is label else "0012", n % 3) for n in range(size)])
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
                }[queue.question.name]
                severity = "major" if queue is kinds else None
                seconds = chance.choice([None, 0.1 + 0.2, chance.random() * 100])
                content = VoteContent(f"{cast}", answer, severity, chance.choice(HARD), seconds=seconds)
                if ledger.decisions.current(first + number) is None:
                    ledger.votes.cast(first + number, person, content)
                cast += 1
    return panel, judge


def _items(ledger, queue):
    from regrade.ledger.schema import item

    with ledger.engine.connect() as connection:
        return connection.execute(select(item).where(item.c.queue_id == queue.id)).all()


@pytest.fixture
def lively(ledger):
    panel, judge = fill(ledger, 150)
    for number, item in enumerate(disputed_items(ledger, judge)):
        ledger.discussions.comment(item.id, panel[number % 5], HARD[2] + HARD[number % len(HARD)])
        ledger.decisions.lock(item.id, panel[0], why=HARD[number % len(HARD)])
    ledger.decisions.reopen(item.id, panel[1], why="once more")
    ledger.votes.cast(item.id, panel[1], VoteContent("back", None, why="no idea"))
    for text in HARD:
        added = ledger.reports.add(item.id, panel[2], f"gray {text} half")
        ledger.reports.clear(added.id, panel[0])
    ledger.reports.add(item.id, panel[2])
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
    grids = ledger.queues.create("grids", Question.SELECT, test_set="pool", build="v2", overlap=10)
    [link] = ledger.workers.add(1)
    ledger.workers.log(grids, link.worker, WorkerEvent.CONSENTED)
    for text in filter(str.strip, HARD):
        ledger.workers.log(grids, link.worker, WorkerEvent.PAUSED, by=panel[0], reason=text)
    judged = next(queue for queue in ledger.queues.all() if queue.question is Question.JUDGE)
    ledger.proposals.add_class(judged, NewItem("added.jpg", "n01"), panel[0], "seen by a person")
    for number, text in enumerate(filter(str.strip, HARD)):
        ledger.proposals.propose(judged, NewItem(f"proposed {number}.jpg", "n01"), Claim.WRONG, text, visitor="Vera")
    return ledger


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_export_and_import_preserve_every_row(lively, copy, tmp_path, suffix):
    rows = lively.rows()
    path = tmp_path / f"ledger{suffix}"
    path.write_bytes(rows_as_file(rows, suffix))
    assert {row["kind"] for row in rows} == {
        "person", "queue", "assignment", "item", "vote", "comment", "decision", "report", "guide",
        "worker_event", "proposal",
    }  # fmt: skip
    assert {row["answer"] for row in rows if row["kind"] == "vote"} >= {None, "", "=x"}
    copy.import_rows(rows_from_file(path))
    assert copy.rows() == rows
    assert copy.import_rows(rows_from_file(path)) == 0
    assert copy.rows() == rows
    for queue in lively.queues.all():
        assert copy.queues.progress(copy.queues.named(queue.name)) == lively.queues.progress(queue)


def test_import_copies_ten_thousand_votes_to_postgres(tmp_path, postgres):
    """From SQLite through a file to PostgreSQL."""
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS ten_thousand")
        connection.execute("CREATE DATABASE ten_thousand")
    first = Ledger(open_database(tmp_path / "first.sqlite"))
    second = Ledger(open_database(postgres.replace("/postgres?", "/ten_thousand?")))
    rows = many_rows(10_000)
    assert first.import_rows(rows) == 10_000
    path = tmp_path / "votes.csv"
    path.write_bytes(rows_as_file(first.rows(), ".csv"))
    assert second.import_rows(rows_from_file(path)) == 10_000
    assert second.rows() == first.rows() == rows
    assert second.queues.progress(second.queues.named("q")) == first.queues.progress(first.queues.named("q"))
    for ledger in (first, second):
        ledger.engine.dispose()


def many_rows(votes):
    """The rows of a ledger with this many votes."""
    at = datetime(2026, 3, 4, 5, 6, 7, 89, tzinfo=UTC)
    rows = [{"kind": "person", "person": f"person {n}", "role": "reviewer", "at": at} for n in range(10)]
    rows.append({"kind": "queue", "queue": "q", "question": "judge", "test_set": "val", "labels": "real@1"})
    rows[-1] |= {"overlap": 10, "model": "", "mode": "examination", "purpose": "census", "build": "", "at": at}
    items = [{"queue": "q", "example": f"{n:05}.jpg", "class": "n01"} for n in range(votes // 10)]
    rows += [{"kind": "item", **item, "stratum": 0, "needed": 10} for item in items]
    answer = {"answer": "correct", "severity": None, "why": "", "at": at}
    for n in range(votes):
        key = {"key": f"k{n}", "reason": HARD[n % len(HARD)], "seconds": n / 7}
        rows.append({"kind": "vote", **items[n // 10], "person": f"person {n % 10}", **key, **answer})
    for n, item in enumerate(items):
        reached = {"reached": "unanimously", "last_vote": f"k{10 * n + 9}", "person": None}
        rows.append({"kind": "decision", **item, **reached, **answer})
    return rows


def test_rows_do_not_include_secrets(lively):
    """Neither columns nor values of accounts, invitations and secrets are in the rows."""
    person = lively.people.all()[0].id
    with writing(lively.engine) as connection:
        time = datetime(2026, 1, 2, tzinfo=UTC)
        connection.execute(insert(account).values(person_id=person, password="$argon2id$XYZZY", stamp="STAMPXYZZY"))
        connection.execute(insert(invitation).values(digest="DIGESTXYZZY", person_id=person, until=time))
        connection.execute(insert(secret).values(name="cookie", value="COOKIEXYZZY"))
        session = {"digest": "SESSIONXYZZY", "person_id": person, "stamp": "XYZZY", "begun": time, "seen": time}
        connection.execute(insert(browser_session).values(session))
        connection.execute(insert(one_time_link).values(digest="LINKXYZZY", until=time))
        connection.execute(insert(worker_link).values(digest="WORKXYZZY", person_id=person, until=time))
        queue_id = lively.queues.all()[0].id
        connection.execute(insert(proposal_link).values(digest="PROPOSEXYZZY", queue_id=queue_id, created=time))
        connection.execute(insert(sign_in_attempts).values(source="SOURCEXYZZY", count=1, last=time))
    text = repr(lively.rows())
    assert "XYZZY" not in text
    for suffix in SUFFIXES:
        assert b"XYZZY" not in rows_as_file(lively.rows(), suffix)


def test_every_table_is_exported_or_listed_as_not_exported():
    exported = {"person", "queue", "assignment", "item", "vote", "comment", "decision", "report", "guide_entry"}
    exported |= {"worker_event", "proposal"}
    progress = {"block", "turn", "lease", "skip", "overlap_change"}  # temporary state of people's work
    access = {"account", "invitation", "browser_session", "one_time_link", "sign_in_attempts", "secret", "worker_link"}
    access.add("proposal_link")
    assert {table.name for table in metadata.tables.values()} == exported | progress | access | {"chain"}


class TestInvalidFiles:
    """Each error is one line that names the row, and nothing of the file is imported."""

    @pytest.fixture
    def rows(self):
        return many_rows(20)

    @pytest.mark.parametrize(
        ("place", "change", "words"),
        [
            (0, {"kind": "cat"}, "row 1: the kind must be one of person"),
            (0, {"role": "king"}, "row 1, a person: role must be one of owner"),
            (1, {"person": ""}, "row 2, a person: person is empty"),
            (0, {"at": "yesterday"}, "row 1, a person: at must be a time"),
            (0, {"at": datetime(2026, 1, 1)}, "row 1, a person: at must be a time with a time zone"),
            (10, {"overlap": "many"}, "row 11, a queue: overlap must be an integer"),
            (10, {"overlap": 0}, "row 11, a queue: an item needs at least one vote"),
            (10, {"test_set": None}, "row 11, a queue: test_set is missing"),
            (10, {"mode": "exam"}, "row 11, a queue: mode must be one of"),
            (11, {"queue": "none"}, "row 12: there is no queue 'none'"),
            (11, {"stratum": 2**40}, "row 12, a item: stratum must be an integer"),
            (13, {"example": "x.jpg"}, "row 14: there is no item 'q / x.jpg / n01'"),
            (13, {"person": "no one"}, "row 14: there is no person 'no one'"),
            (13, {"answer": "yes"}, "row 14: unknown answer 'yes'"),
            (13, {"answer": 4}, "row 14, a vote: answer must be text"),
            (13, {"severity": "major"}, "row 14: only a mistake"),
            (13, {"seconds": -1}, "row 14, a vote: seconds must be a number"),
            (13, {"seconds": float("inf")}, "row 14, a vote: seconds must be a number"),
            (13, {"seconds": 10**400}, "row 14, a vote: seconds must be a number"),
            (13, {"seconds": 1e308}, "row 14, a vote: seconds must be a number of seconds between 0 and one year"),
            (13, {"at": "0001-01-01T00:00:00+14:00"}, "row 14, a vote: at is in the year 1,"),
            (13, {"at": "9999-12-31T23:00:00-14:00"}, "row 14, a vote: at is in the year 9999,"),
            (13, {"reson": "because"}, "row 14, a vote: unknown column 'reson'; did you mean"),
            (0, {"answer": "wrong"}, "row 1, a person: unknown column 'answer'"),
            (0, {"kind": ["person"]}, "row 1: the kind must be one of person"),
            (13, {"key": "k" * 65}, "row 14, a vote: key has 65 characters"),
            (13, {"reason": "a\x00b"}, "row 14, a vote: reason contains an invalid character"),
            (33, {"last_vote": "gone"}, "row 34: there is no vote 'gone'"),
            (33, {"reached": "by magic"}, "row 34, a decision: reached must be one of"),
            (33, {"answer": "maybe"}, "row 34: unknown answer 'maybe'"),
        ],
    )
    def test_import_rejects_invalid_rows(self, copy, rows, place, change, words):
        rows[place] |= change
        with pytest.raises(FormatError, match="row") as caught:
            copy.import_rows(rows)
        assert str(caught.value).startswith(words) and "\n" not in str(caught.value)
        assert copy.rows() == []

    @pytest.mark.parametrize("name", ["reason", "why", "seconds"])
    def test_import_rejects_a_missing_column(self, copy, rows, name):
        """A missing column is rejected even if its values may be empty."""
        del rows[13][name]
        with pytest.raises(FormatError, match=f"row 14, a vote: {name} is missing"):
            copy.import_rows(rows)

    @pytest.mark.parametrize(
        ("place", "change"),
        [(0, {"role": "labeler"}), (11, {"stratum": 7}), (13, {"answer": "unclear"}), (13, {"reason": "another"})],
    )
    def test_import_rejects_contradicting_rows(self, copy, rows, place, change):
        rows.append({**rows[place], **change})
        with pytest.raises(FormatError, match=rf"row \d+ has another {next(iter(change))} than row {place + 1}"):
            copy.import_rows(rows)
        assert copy.rows() == []

    def test_import_rejects_a_vote_key_with_another_answer(self, copy, rows):
        copy.import_rows(rows)
        before = copy.rows()
        rows[13] |= {"answer": "unclear"}
        with pytest.raises(MismatchError, match=r"row 14: there is a vote '.*' already, with another item"):
            copy.import_rows(rows)
        assert copy.rows() == before

    def test_import_counts_repeated_rows_once(self, copy, rows):
        assert copy.import_rows([repeated for row in rows for repeated in (row, row)]) == 20
        assert len(copy.rows()) == len(rows)

    @pytest.mark.parametrize(
        ("name", "content", "words"),
        [
            ("x.csv", "kind,at\nperson\n", "line 2 has 1 cell"),
            ("x.csv", "a,b\n1,2\n", "the column kind is missing"),
            ("x.csv", "", "is empty"),
            ("x.json", "{}", "expected a list of rows"),
            ("x.json", "[1]", "row 1 is not an object"),
            ("x.json", "[", "not valid JSON"),
            ("x.json", '[{"kind": "person", "kind": "vote"}]', "has the key 'kind' twice"),
            ("x.csv", 'kind,person\nperson,"Ada\nperson,Bob\n', "line 2 has a quote that is not closed"),
            ("x.csv", "kind,person,person\nperson,Ada,Bob\n", "column 'person' occurs twice"),
            ("x.parquet", "PAR1", "cannot be read"),
            ("x.txt", "hello", ".csv, .json, .parquet"),
        ],
    )
    def test_rows_from_file_rejects_damaged_files(self, tmp_path, name, content, words):
        (tmp_path / name).write_text(content)
        with pytest.raises(FormatError, match=words) as caught:
            rows_from_file(tmp_path / name)
        assert "\n" not in str(caught.value)

    def test_short_csv_line_is_rejected(self, tmp_path, rows):
        path = tmp_path / "x.csv"
        lines = rows_as_file(rows[:12], ".csv").decode().splitlines(keepends=True)
        path.write_text("".join([*lines[:5], "person,short\n", *lines[5:]]))
        with pytest.raises(FormatError, match="line 6 has 2 cells"):
            rows_from_file(path)


def test_csv_saved_by_a_spreadsheet_is_accepted(copy, tmp_path):
    """Quotes may be missing around empty text, and formulas are plain text."""
    rows = many_rows(20)
    path, again = tmp_path / "x.csv", tmp_path / "y.csv"
    path.write_bytes(rows_as_file(rows, ".csv"))
    with path.open(newline="") as file, again.open("w", newline="") as out:
        csv.writer(out).writerows(csv.reader(file))
    assert copy.import_rows(rows_from_file(again)) == 20
    assert [row["reason"] for row in copy.rows() if row["kind"] == "vote"] == [HARD[n % len(HARD)] for n in range(20)]


def test_json_has_one_row_per_line():
    text = rows_as_file(many_rows(20), ".json").decode()
    assert len(text.splitlines()) == len(json.loads(text)) + 2
