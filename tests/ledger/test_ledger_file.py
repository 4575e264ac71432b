"""The file of a ledger: paths, permissions, lost and replaced files, damage, and backups."""

import logging
import os
import resource
import signal
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from regrade.core import AlreadyStored, InputError, LedgerDamaged, LedgerRefused, LedgerUnavailable, StoreError
from regrade.ledger import Ledger, NewItem, Question, Role, VoteContent
from regrade.ledger.ledger_file import connect


@pytest.fixture
def ledger(tmp_path):
    opened = Ledger.open(tmp_path / "ledger.sqlite")
    yield opened
    opened.engine.dispose()


@pytest.mark.parametrize("folder", ["a?b", "50%25", "a#b", "with blank", "ümlaut", "a&mode=ro", "file:x", "a;b", "'\""])
def test_open_accepts_any_characters_in_the_path(tmp_path, folder):
    place = tmp_path / folder / f"{folder}.sqlite"
    place.parent.mkdir()
    ledger = Ledger.open(place)
    ledger.people.add("Ada", Role.OWNER)
    ledger.engine.dispose()
    assert sorted(path.name for path in place.parent.iterdir()) == [place.name]
    assert [path.name for path in tmp_path.iterdir()] == [folder]
    again = Ledger.open(place)
    assert [person.name for person in again.people.all()] == ["Ada"]
    again.engine.dispose()


def test_connections_sync_every_commit(ledger, tmp_path):
    ledger.engine.dispose()
    with closing(connect(tmp_path / "ledger.sqlite", wait=1)) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL


def test_open_rejects_an_empty_file(ledger, tmp_path):
    ledger.engine.dispose()
    (tmp_path / "ledger.sqlite").write_bytes(b"")
    with pytest.raises(StoreError, match=r"ledger\.sqlite is empty: restore it"):
        Ledger.open(tmp_path / "ledger.sqlite")


def test_open_rejects_a_leftover_wal_file(ledger, tmp_path):
    ledger.people.add("Ada", Role.OWNER)  # the connection stays open, and so does the -wal
    (tmp_path / "ledger.sqlite").rename(tmp_path / "away")
    with pytest.raises(StoreError, match=r"is missing, only ledger\.sqlite-wal is left"):
        Ledger.open(tmp_path / "ledger.sqlite")
    (tmp_path / "away").rename(tmp_path / "ledger.sqlite")


@pytest.mark.parametrize("loss", ["removed", "replaced", "emptied"])
def test_write_to_a_lost_file_raises(ledger, tmp_path, loss):
    path = tmp_path / "ledger.sqlite"
    ledger.people.add("Ada", Role.OWNER)
    kept = path.read_bytes()
    if loss == "emptied":
        os.truncate(path, 0)
    else:
        path.unlink()
    if loss == "replaced":
        path.write_bytes(kept)
    with pytest.raises(StoreError, match="removed or replaced while it was in use"):
        ledger.people.add("Bob", Role.OWNER)


def test_reading_a_missing_ledger_does_not_create_it(ledger, tmp_path):
    ledger.people.add("Ada", Role.OWNER)
    ledger.engine.dispose()
    for file in tmp_path.glob("ledger.sqlite*"):
        file.unlink()
    with pytest.raises(LedgerUnavailable, match="its file or folder is missing"):
        ledger.queues.all()
    assert not list(tmp_path.iterdir())


def test_ledger_replaced_while_in_use_is_rejected(ledger, tmp_path):
    ledger.identity()
    replacement = Ledger.open(tmp_path / "replacement.sqlite")
    replacement.identity()
    replacement.engine.dispose()
    ledger.engine.dispose()
    (tmp_path / "replacement.sqlite").rename(tmp_path / "ledger.sqlite")
    for _ in range(2):
        with pytest.raises(LedgerUnavailable, match="replaced by another one"):
            ledger.queues.all()


@pytest.mark.parametrize("assignment", ["mode = 'dxamination'", "question = 'lable'"])
def test_invalid_enum_value_raises_ledger_damaged(ledger, assignment):
    ledger.queues.create("q", Question.JUDGE, test_set="val", labels="own@1")
    with ledger.engine.begin() as connection:
        connection.exec_driver_sql("PRAGMA ignore_check_constraints = ON")
        connection.exec_driver_sql(f"UPDATE queue SET {assignment}")
    with pytest.raises(LedgerDamaged, match="instead of"):
        ledger.queues.all()


@pytest.mark.parametrize(
    ("change", "column"),
    [
        ("answer = cast(answer AS blob)", "vote.answer"),
        ("reason = x'ff'", "vote.reason"),
        ("seconds = 'long'", "vote.seconds"),
        ("at = x'00'", "vote.at"),
        ("at = 'yesterday'", ""),
        ("answer = cast(x'ff' AS text)", ""),
    ],
)
def test_value_of_a_wrong_type_raises_ledger_damaged(tmp_path, change, column):
    ledger = Ledger.open(tmp_path / "ledger.sqlite")
    ada = ledger.people.add("Ada", Role.REVIEWER)
    queue = ledger.queues.create("q", Question.JUDGE, test_set="val", labels="own@1")
    ledger.items.add(queue, [NewItem("a.jpg", "cat")])
    ledger.votes.cast(ledger.items.next(queue, ada).id, ada, VoteContent("key", "correct", seconds=1.0))
    with ledger.engine.begin() as connection:
        connection.exec_driver_sql("DROP TRIGGER vote_no_update")
        connection.exec_driver_sql(f"UPDATE vote SET {change}")
    problems = ledger.problems()
    assert any("damaged" in problem for problem in problems)
    assert not column or f"{column}: 1 value of a wrong type" in problems
    with pytest.raises(LedgerDamaged):
        ledger.rows()
    ledger.engine.dispose()


def test_ledger_that_was_put_back_works_again(ledger, tmp_path):
    path = tmp_path / "ledger.sqlite"
    ledger.people.add("Ada", Role.OWNER)
    ledger.back_up(tmp_path / "copy.sqlite")
    for beside in tmp_path.glob("ledger.sqlite*"):
        beside.unlink()
    with pytest.raises(StoreError):
        ledger.people.add("Bob", Role.OWNER)
    (tmp_path / "copy.sqlite").rename(path)
    ledger.people.add("Cleo", Role.OWNER)
    assert [person.name for person in ledger.people.all()] == ["Ada", "Cleo"]


def test_open_concurrently_creates_one_ledger(tmp_path):
    barrier = threading.Barrier(6)

    def create(number: int) -> str:
        barrier.wait()
        ledger = Ledger.open(tmp_path / "ledger.sqlite")
        ledger.people.add(f"P{number}", Role.REVIEWER)
        identity = ledger.identity()
        ledger.engine.dispose()
        return identity

    with ThreadPoolExecutor(6) as pool:
        identities = set(pool.map(create, range(6)))
    assert len(identities) == 1
    ledger = Ledger.open(tmp_path / "ledger.sqlite")
    assert len(ledger.people.all()) == 6
    ledger.engine.dispose()
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.sqlite"]


def test_backup_during_votes_is_a_valid_ledger(ledger, tmp_path):
    person = ledger.people.add("Ada", Role.OWNER)
    queue = ledger.queues.create("q", Question.JUDGE, test_set="val", labels="own@1")
    ledger.items.add(queue, [NewItem(f"{number}.jpg", "cat") for number in range(200)])
    stop = threading.Event()

    def vote() -> int:
        for number in range(200):
            item = ledger.items.next(queue, person)
            ledger.votes.cast(item.id, person, VoteContent(f"vote {number}", "correct"))
            if stop.is_set():
                return number + 1
        return 200

    with ThreadPoolExecutor(1) as pool:
        cast = pool.submit(vote)
        copies = [tmp_path / f"copy-{number}.sqlite" for number in range(3)]
        for copy in copies:
            ledger.back_up(copy)
        stop.set()
        total = cast.result()
    for copy in copies:
        opened = Ledger.open(copy)
        assert opened.problems() == ()
        votes = sum(row["kind"] == "vote" for row in opened.rows())
        assert votes <= total and opened.last_link().position == 2 * votes
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
        opened.engine.dispose()
    assert not list(tmp_path.glob(".*")) and not list(tmp_path.glob("copy*-wal"))


def test_backup_rejects_an_existing_file(ledger, tmp_path):
    (tmp_path / "copy.sqlite").write_text("mine")
    with pytest.raises(AlreadyStored, match="exists already"):
        ledger.back_up(tmp_path / "copy.sqlite")
    assert (tmp_path / "copy.sqlite").read_text() == "mine"


def test_backup_needs_a_file_name(ledger):
    with pytest.raises(InputError, match="needs a file name"):
        ledger.back_up(Path())


def test_backup_on_a_full_disk_raises_and_leaves_no_file(ledger, tmp_path):
    (folder := tmp_path / "copies").mkdir()
    before, ignored = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, before[1]))
    try:
        with pytest.raises(LedgerRefused, match="cannot be copied"):
            ledger.back_up(folder / "copy.sqlite")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert not list(folder.iterdir())


def test_backup_of_postgres_names_the_tool(postgres):
    ledger = Ledger.open(postgres)
    with pytest.raises(InputError, match="pg_dump"):
        ledger.back_up(Path("copy"))
    ledger.engine.dispose()


def test_identity_is_unique_and_constant(tmp_path):
    first, second = Ledger.open(tmp_path / "a.sqlite"), Ledger.open(tmp_path / "b.sqlite")
    assert first.identity() == first.identity() != second.identity()
    first.engine.dispose()
    second.engine.dispose()


@pytest.fixture
def wide_umask():
    """New files are readable by everyone by default."""
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder):
    return {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in sorted(folder.iterdir())}


@pytest.mark.usefixtures("wide_umask")
def test_open_creates_private_files(tmp_path):
    ledger = Ledger.open(tmp_path / "ledger.sqlite")
    ledger.people.add("Ada", Role.OWNER)
    assert modes(tmp_path) == dict.fromkeys(("ledger.sqlite", "ledger.sqlite-shm", "ledger.sqlite-wal"), "0o600")
    ledger.engine.dispose()


@pytest.mark.usefixtures("wide_umask")
def test_open_through_a_dangling_link_creates_a_private_file(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "ledger.sqlite").symlink_to(tmp_path / "disk" / "real.sqlite")
    Ledger.open(tmp_path / "ledger.sqlite").engine.dispose()
    assert modes(tmp_path / "disk") == {"real.sqlite": "0o600"}


def test_open_restricts_an_existing_ledger_and_logs_it_once(tmp_path, caplog):
    path = tmp_path / "ledger.sqlite"
    first = Ledger.open(path)
    first.people.add("Ada", Role.OWNER)
    for file in tmp_path.iterdir():
        file.chmod(0o644)
    Ledger.open(path).engine.dispose()
    assert set(modes(tmp_path).values()) == {"0o600"}
    lines = [record.getMessage() for record in caplog.records if record.name == "regrade.ledger.ledger_file"]
    assert len(lines) == 1
    assert str(path) in lines[0] and "644" in lines[0] and "only its owner" in lines[0]
    Ledger.open(path).engine.dispose()
    first.engine.dispose()
    assert len([record for record in caplog.records if record.name == "regrade.ledger.ledger_file"]) == 1


def test_open_warns_if_it_cannot_restrict_the_file(tmp_path, caplog, monkeypatch):
    path = tmp_path / "ledger.sqlite"
    Ledger.open(path).engine.dispose()
    path.chmod(0o640)

    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "chmod", refuse)
    Ledger.open(path).engine.dispose()
    (record,) = [record for record in caplog.records if record.name == "regrade.ledger.ledger_file"]
    assert record.levelno == logging.WARNING
    assert "is readable by other users (mode 640)" in record.getMessage()
    assert "permission is denied" in record.getMessage()


def test_open_raises_if_no_file_can_be_created(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("regrade.ledger.ledger_file.os.open", refuse)
    with pytest.raises(LedgerRefused, match="cannot be created: the disk is read-only"):
        Ledger.open(tmp_path / "ledger.sqlite")
