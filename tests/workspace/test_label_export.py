"""Export of label sets: importing the file gives the same labels in every format; authors and times are written."""

import csv
import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from judging import item_of, people, queue_of, vote
from running import assert_one_line, run, run_well

import regrade
from regrade.core import LabelSet, LabelState, Unlisted

REASON = 'two\nlines, "quoted"; =1+1 Škoda'
FORMS = [("csv", "plain"), ("json", "plain"), ("parquet", "plain"), ("json", "multilabel-v3")]


@pytest.fixture
def workspace(pets):
    opened = regrade.open(pets)
    test_set = opened.store.test_set("pets")
    pairs = {(0, 3): 1, (0, 5): 3, (1, 5): 1, (2, 2): 1, (2, 3): 2, (3, 3): 1}
    where = np.array(list(pairs))
    reasons = ("", "", "", REASON, "drawing", "")  # p4 is covered and problematic, and no class of it was judged
    labels = LabelSet(
        "own", 1, "pets", 10, where[:, 0], where[:, 1], np.array(list(pairs.values()), dtype=np.int8),
        np.array([True, True, True, True, True, False]), reasons, Unlisted.NOVEL, "by hand",
    )  # fmt: skip
    opened.store.add_label_set(labels, test_set)
    yield opened
    opened.ledger.engine.dispose()


@pytest.fixture
def decided(workspace):
    """A panel of two has decided on four pairs."""
    ledger = workspace.ledger
    panel = people(ledger, "Ada", "Bob; the second")
    pairs = [("p1", "cat"), ("p0", "dog"), ("p2", "dog"), ("p2", "ship")]
    queue = queue_of(ledger, "novel", pairs, test_set="pets", labels="own", overlap=2)
    for pair, answer in zip(pairs, ("correct", "unclear", "problematic", "wrong"), strict=True):
        for person in panel:
            vote(ledger, queue, person, pair, answer, reason="edited")
    workspace.publish("novel")
    return workspace


def labels_of(workspace, name):
    return workspace.store.label_set(workspace.store.test_set("pets"), name)


@pytest.mark.parametrize(("suffix", "form"), FORMS)
@pytest.mark.parametrize("version", ["own@1", "own@2"])
def test_export_labels_and_import_give_the_same_labels(decided, tmp_path, suffix, form, version):
    root, file = decided.store.root, tmp_path / f"out.{suffix}"
    done = run_well("labels", "export", version, file, "-t", "pets", "--format", form, "-w", root)
    assert version in done.err and "5 images" in done.err
    run_well("import", "labels", file, "-t", "pets", "--name", "again", "--format", form, "-w", root)
    assert labels_of(decided, "again").digest == labels_of(decided, version).digest


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet"])
def test_export_labels_of_complete_lists(workspace, tmp_path, suffix):
    """As in ReaL, classes that are not listed are wrong, and the import needs --complete."""
    root, file = workspace.store.root, tmp_path / f"out.{suffix}"
    (tmp_path / "full.json").write_text(json.dumps({"p0": ["cat"], "p1": []}))
    full = ("-t", "pets", "--complete", "-w", root)
    run_well("import", "labels", tmp_path / "full.json", "--name", "full", *full)
    done = run_well("labels", "export", "full", file, "-t", "pets", "-w", root)
    assert "--complete" in done.err
    run_well("import", "labels", file, "--name", "again", *full)
    assert labels_of(workspace, "again").digest == labels_of(workspace, "full").digest
    v3 = ("labels", "export", "full", tmp_path / "v3.json", "-t", "pets", "--format", "multilabel-v3", "-w", root)
    assert_one_line(run(*v3), "multilabel-v3 cannot express", "plain")


def test_export_labels_writes_authors_and_times(decided, tmp_path):
    by = ["Ada", "Bob; the second"]
    for suffix in ("csv", "json", "parquet"):
        assert decided.export_labels("own", tmp_path / f"a.{suffix}", test_set="pets").with_authors == 4
    with (tmp_path / "a.csv").open(newline="") as file:
        rows = {(row["image"], row["class"]): row for row in csv.DictReader(file)}
    assert rows["p1", "cat"]["by"] == "Ada; Bob; the second" and rows["p1", "cat"]["at"].startswith("20")
    assert rows["p1", "dog"]["by"] == rows["p1", "dog"]["at"] == ""
    assert (
        rows["p2", "bird"]["problematic"] == "edited"
        and rows["p2", "bird"]["problematic_by"] == rows["p1", "cat"]["by"]
    )
    assert rows["p4", ""]["problematic"] == "drawing" and rows["p4", ""]["problematic_by"] == ""
    content = json.loads((tmp_path / "a.json").read_text())
    assert content["p1"]["decided"][0]["by"] == by and content["p2"]["problematic_by"] == by
    table = pq.read_table(tmp_path / "a.parquet").to_pylist()
    exported = next(row for row in table if (row["image"], row["class"]) == ("p0", "dog"))
    assert (exported["state"], exported["by"]) == ("unclear", by) and exported["at"].tzinfo is not None
    assert decided.export_labels("own@1", tmp_path / "one.csv", test_set="pets").with_authors == 0
    v3 = decided.export_labels("own", tmp_path / "v3.json", test_set="pets", form="multilabel-v3")
    assert v3.with_authors == 0 and b"Ada" not in (tmp_path / "v3.json").read_bytes()


def test_export_labels_omits_the_author_of_a_changed_decision(decided, tmp_path):
    ledger = decided.ledger
    queue, panel = ledger.queues.named("novel"), people(ledger, "Ada", "Bob; the second")
    ledger.decisions.reopen(item_of(ledger, queue, "p1", "cat"), panel[0], why="hm")
    for person in panel:
        vote(ledger, queue, person, ("p1", "cat"), "wrong", why="hm")
    assert ledger.decisions.current(item_of(ledger, queue, "p1", "cat")).answer == "wrong"
    assert decided.export_labels("own@2", tmp_path / "a.csv", test_set="pets").with_authors == 3


def test_export_labels_rejects_bad_paths_and_names(workspace, tmp_path):
    root = workspace.store.root
    export = ("labels", "export", "own")
    (tmp_path / "there.csv").write_text("mine")
    assert_one_line(run(*export, tmp_path / "there.csv", "-t", "pets", "-w", root), "exists already")
    assert (tmp_path / "there.csv").read_text() == "mine"
    assert_one_line(run(*export, tmp_path / "no" / "a.csv", "-t", "pets", "-w", root), "no folder")
    assert_one_line(run(*export, tmp_path / "a.txt", "-t", "pets", "-w", root), ".csv, .json, .parquet")
    v3 = (*export, tmp_path / "a.csv", "-t", "pets", "--format", "multilabel-v3", "-w", root)
    assert_one_line(run(*v3), "multilabel-v3 is JSON")
    assert_one_line(run("labels", "export", "own@7", tmp_path / "a.csv", "-t", "pets", "-w", root), "own@7")


def test_export_labels_without_decisions_needs_no_ledger(workspace, tmp_path, monkeypatch):
    def refuse(_):
        raise AssertionError("the ledger was opened")

    monkeypatch.setattr(type(workspace), "ledger", property(refuse))
    assert workspace.export_labels("own", tmp_path / "a.csv", test_set="pets").labels.states[0] == LabelState.CORRECT
    monkeypatch.undo()
