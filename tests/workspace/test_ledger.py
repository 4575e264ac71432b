"""The note of a workspace on its ledger: a lost or replaced ledger is an error, never silently a new one."""

import shutil
import sqlite3
from contextlib import closing

import pytest
from judging import people, queue_of, vote
from pets import IDS, LABELS
from running import assert_one_line, run, run_well, snapshot
from sqlalchemy import event

import regrade
from regrade.core import StoreError
from regrade.ledger import Ledger, Role, question_named


@pytest.fixture
def root(tmp_path):
    workspace = regrade.init(tmp_path / "W")
    workspace.ledger.people.add("Ada", Role.OWNER)
    workspace.ledger.engine.dispose()
    return tmp_path / "W"


def lose(root) -> None:
    for path in root.glob("ledger.sqlite*"):
        path.unlink()


def test_ledger_is_created_on_first_use(tmp_path):
    workspace = regrade.init(tmp_path / "W")
    assert not (tmp_path / "W" / "ledger.sqlite").exists()
    assert workspace.verify().problems == ()
    assert not (tmp_path / "W" / "ledger.sqlite").exists()
    assert workspace.ledger.people.all() == ()
    assert (tmp_path / "W" / "ledger.json").is_file()
    workspace.ledger.engine.dispose()


def test_removed_ledger_is_an_error(root):
    lose(root)
    assert_one_line(run("review", "list", "-w", root), "is missing", "restore it from a backup", "ledger.json")
    assert not (root / "ledger.sqlite").exists()


def test_removed_ledger_is_restored_from_a_backup(root, tmp_path):
    run_well("review", "backup", tmp_path / "copy.sqlite", "-w", root)
    lose(root)
    shutil.copy(tmp_path / "copy.sqlite", root / "ledger.sqlite")
    assert "Ada" in run_well("team", "list", "-w", root).out


@pytest.mark.parametrize("command", [("verify",), ("review", "verify")], ids=" ".join)
def test_verify_leaves_an_older_ledger_as_it_is(root, command):
    with closing(sqlite3.connect(root / "ledger.sqlite")) as client, client:
        client.execute("ALTER TABLE item DROP COLUMN needed")
        for table in ("overlap_change", "worker_link", "worker_event", "proposal", "proposal_link"):
            client.execute(f"DROP TABLE {table}")
        client.execute("UPDATE alembic_version SET version_num = '0006'")
    before = snapshot(root)
    run_well(*command, "-w", root)
    assert snapshot(root) == before


def test_replaced_ledger_is_an_error(root, tmp_path):
    other_workspace = regrade.init(tmp_path / "other")
    other_workspace.ledger.engine.dispose()
    lose(root)
    shutil.copy(tmp_path / "other" / "ledger.sqlite", root / "ledger.sqlite")
    assert_one_line(run("review", "list", "-w", root), "replaced by another")
    with pytest.raises(StoreError):
        _ = regrade.open(root).ledger


def test_removing_the_note_allows_a_new_ledger(root):
    lose(root)
    (root / "ledger.json").unlink()
    assert "Ada" not in run_well("team", "list", "-w", root).out


def test_ledger_with_another_path_is_a_new_one(root):
    config = root / "regrade.toml"
    config.write_text(config.read_text().replace('"ledger.sqlite"', '"team.sqlite"'))
    assert "Ada" not in run_well("team", "list", "-w", root).out
    assert (root / "team.sqlite").is_file()


def test_verify_reports_a_lost_ledger(root):
    lose(root)
    (problem,) = regrade.open(root).verify().problems
    assert problem.subject == "ledger" and "is missing" in problem.trouble
    ran = run("verify", "-w", root)
    assert ran.code == 1 and ran.err == f"error: 1 problem in {root}: see the notes of the table\n"


def test_verify_reports_lost_published_votes(pets, tmp_path):
    """The ledger was restored from a backup that is older than what was published."""
    rows = [f"{image},{label}\n" for image, label in zip(IDS, LABELS, strict=True)]
    (tmp_path / "labels.csv").write_text("image,class\n" + "".join(rows))
    workspace = regrade.open(pets)
    workspace.labels.import_file(tmp_path / "labels.csv", test_set="pets", name="own")
    (ada,) = people(workspace.ledger, "Ada")
    queue = queue_of(workspace.ledger, "q", [("p2", "cat")], test_set="pets", labels="own@1")
    workspace.review.back_up(tmp_path / "older.sqlite")
    vote(workspace.ledger, queue, ada, ("p2", "cat"), "correct")
    assert workspace.review.publish("q").written
    assert workspace.verify().problems == ()
    workspace.ledger.engine.dispose()
    lose(pets)
    shutil.copy(tmp_path / "older.sqlite", pets / "ledger.sqlite")
    (problem,) = regrade.open(pets).verify().problems
    assert "which was noted when a queue was published" in problem.trouble
    ran = run("review", "verify", "-w", pets)
    assert_one_line(ran, "error: 1 problem in the ledger: ", "noted when a queue was published")


@pytest.fixture
def published(pets, tmp_path):
    """A workspace in which a queue was published, and a backup from before in ``older.sqlite``."""
    rows = [f"{image},{label}\n" for image, label in zip(IDS, LABELS, strict=True)]
    (tmp_path / "labels.csv").write_text("image,class\n" + "".join(rows))
    workspace = regrade.open(pets)
    workspace.labels.import_file(tmp_path / "labels.csv", test_set="pets", name="own")
    (ada,) = people(workspace.ledger, "Ada")
    queue = queue_of(workspace.ledger, "q", [("p2", "cat"), ("p3", "cat")], test_set="pets", labels="own@1")
    workspace.review.back_up(tmp_path / "older.sqlite")
    vote(workspace.ledger, queue, ada, ("p2", "cat"), "correct")
    assert workspace.review.publish("q").written
    workspace.review.back_up(tmp_path / "newer.sqlite")
    workspace.ledger.engine.dispose()
    return pets


def test_restore_of_an_up_to_date_backup_keeps_the_note(published, tmp_path):
    before = (published / "ledger.json").read_bytes()
    run_well("review", "restore", tmp_path / "newer.sqlite", "-w", published)
    assert (published / "ledger.json").read_bytes() == before
    assert regrade.open(published).verify().problems == ()


def test_restore_of_an_older_backup_requires_older(published, tmp_path):
    files = {path.name: path.read_bytes() for path in published.glob("ledger*")}
    refused = run("review", "restore", tmp_path / "older.sqlite", "-w", published)
    assert_one_line(refused, "lacks link 2", "what is published", "--older")
    assert {path.name: path.read_bytes() for path in published.glob("ledger*")} == files
    done = run_well("review", "restore", tmp_path / "older.sqlite", "--older", "-w", published)
    assert "publish its queues again" in done.err
    assert regrade.open(published).verify().problems == ()


def test_restore_by_an_open_workspace_reads_the_new_ledger(published, tmp_path):
    workspace = regrade.open(published)
    assert workspace.ledger.last_link().position == 2
    workspace.review.restore(tmp_path / "older.sqlite", older=True)
    assert workspace.ledger.last_link().position == 0
    workspace.ledger.engine.dispose()


# A note that was lost


def put_older(root, tmp_path):
    """Replace the ledger by an older copy, without the restore command."""
    lose(root)
    shutil.copy(tmp_path / "older.sqlite", root / "ledger.sqlite")


def test_verify_reports_a_lost_note_and_writes_nothing(published, tmp_path):
    put_older(published, tmp_path)
    (published / "ledger.json").unlink()
    for command in (("verify",), ("review", "verify")):
        ran = run(*command, "-w", published)
        assert ran.code == 1
        assert "ledger.json is missing" in ran.out + ran.err and "labels/pets/own@2.parquet" in ran.out + ran.err
        assert not (published / "ledger.json").exists()


@pytest.mark.parametrize("question", ["judge", "label", "mistake"])
def test_ledger_problems_report_a_missing_note_for_every_question(pets, tmp_path, question):
    workspace = regrade.open(pets)
    (ada,) = people(workspace.ledger, "Ada")
    labels = {"labels": "own@1"} if question != "label" else {}
    rows = [f"{image},{label}\n" for image, label in zip(IDS, LABELS, strict=True)]
    (tmp_path / "labels.csv").write_text("image,class\n" + "".join(rows))
    workspace.labels.import_file(tmp_path / "labels.csv", test_set="pets", name="own")
    pair = ("p2", "" if question == "label" else "cat")
    more = {"model": "m"} if question == "mistake" else {}
    queue = queue_of(
        workspace.ledger, "q", [pair], question=question_named(question), test_set="pets", **labels, **more
    )
    answer = {"judge": "correct", "label": "cat", "mistake": "fine-grained"}[question]
    vote(workspace.ledger, queue, ada, pair, answer, **({"severity": "major"} if question == "mistake" else {}))
    assert workspace.review.publish("q").written
    (pets / "ledger.json").unlink()
    (problem,) = regrade.open(pets).review.problems()
    assert "ledger.json is missing" in problem
    workspace.ledger.engine.dispose()


def test_lost_note_is_rewritten_only_by_publishing(published):
    (published / "ledger.json").unlink()
    for command in (("team", "add", "Bob"), ("team", "list"), ("review", "list")):
        run_well(*command, "-w", published)
        assert not (published / "ledger.json").exists()
    run_well("review", "publish", "q", "--yes", "-w", published)
    assert regrade.open(published).verify().problems == ()
    assert '"position": 2' in (published / "ledger.json").read_text()


def test_verify_reports_a_note_that_is_a_broken_link(published):
    (published / "ledger.json").unlink()
    (published / "ledger.json").symlink_to(published / "nowhere.json")
    ran = run("verify", "-w", published)
    assert ran.code == 1 and "ledger.json" in ran.out + ran.err and "broken link" in ran.out + ran.err
    assert_one_line(run("team", "add", "Bob", "-w", published), "ledger.json is a broken link")


def test_verify_of_a_lost_ledger_and_note_reports_the_note(published):
    lose(published)
    (published / "ledger.json").unlink()
    ran = run("verify", "-w", published)
    assert ran.code == 1 and "ledger.json is missing" in ran.out + ran.err
    assert not (published / "ledger.sqlite").exists()


def test_verify_of_a_workspace_without_a_note_or_publication_writes_nothing(root):
    (root / "ledger.json").unlink()
    assert regrade.open(root).verify().problems == ()
    assert not (root / "ledger.json").exists()


# A ledger that was rolled back

WRITING = [
    ("team", "add", "Bob"), ("team", "invite", "Ada"), ("team", "link"), ("review", "publish", "q", "--yes"),
    ("review", "queue", "-t", "pets", "-l", "own"), ("review", "label", "-t", "pets"), ("review", "overlap", "q", "2"),
    ("serve",),
]  # fmt: skip


def test_writing_commands_reject_a_rolled_back_ledger(published, tmp_path):
    put_older(published, tmp_path)
    note = (published / "ledger.json").read_bytes()
    for command in WRITING:
        refused = run(*command, "-w", published)
        assert_one_line(refused, "lacks link 2", "an older copy", "regrade review restore FILE --older")
    assert "Ada" in run_well("team", "list", "-w", published).out
    run_well("review", "list", "-w", published)
    run_well("review", "backup", tmp_path / "again.sqlite", "-w", published)
    assert (published / "ledger.json").read_bytes() == note


@pytest.mark.parametrize("way_out", [("newer.sqlite",), ("older.sqlite", "--older")])
def test_rolled_back_ledger_is_writable_after_restoring(published, tmp_path, way_out):
    put_older(published, tmp_path)
    name, *options = way_out
    run_well("review", "restore", tmp_path / name, *options, "-w", published)
    run_well("team", "add", "Bob", "-w", published)


def test_ledger_with_a_different_link_at_the_noted_position_is_rejected(published, tmp_path):
    """Voting continued in an older copy, so that its chain has the same length again."""
    put_older(published, tmp_path)
    ledger = Ledger.open(published / "ledger.sqlite")
    (ada,) = people(ledger, "Ada")
    for pair in (("p2", "cat"), ("p3", "cat")):
        vote(ledger, ledger.queues.named("q"), ada, pair, "wrong")
    assert ledger.last_link().position > 2
    ledger.engine.dispose()
    assert_one_line(run("team", "add", "Bob", "-w", published), "lacks link 2")


def test_opening_a_ledger_does_not_read_the_whole_chain(published):
    workspace = regrade.open(published)
    engine = workspace.review.readable_ledger.engine
    statements = []
    event.listen(engine, "before_cursor_execute", lambda _c, _cu, sql, values, *_: statements.append((sql, values)))
    _ = workspace.ledger
    ((statement, values),) = [(sql, values) for sql, values in statements if "FROM chain" in sql]
    with engine.connect() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values).mappings().all()
    assert [row["detail"] for row in plan] == ["SEARCH chain USING INTEGER PRIMARY KEY (rowid=?)"]
    engine.dispose()
