"""Removing, restoring and renaming on the command line: what is printed, asked and undone."""

import io
import json
from unittest import mock

import numpy as np
import pytest
from running import Terminal, assert_one_line, run, run_well

import regrade
from regrade.core import ClassSpace, TestSet


@pytest.fixture
def root(tmp_path):
    workspace = regrade.init(tmp_path / "W")
    space = ClassSpace("toys", ("ball", "doll"))
    workspace.store.add_test_set(TestSet("shelf", space, ("a", "b"), np.array([0, 1])))
    for name in ("plain/seed-0", "plain/seed-1", "two words"):
        workspace.models.add_predictions(name, np.eye(2), test_set="shelf")
    workspace.labels.create("shelf", name="own")
    return tmp_path / "W"


def models(root):
    return [row["model"] for row in json.loads(run_well("models", "list", "--json", "-w", root).out)["models"]]


def test_remove_lists_what_goes_and_restore_puts_it_back(root):
    ran = run_well("models", "remove", "plain", "--yes", "-w", root)
    lines = ran.err.splitlines()
    assert lines[0].startswith("plain (2 models) on shelf: 2 records, 6 files, ")
    assert lines[1].startswith("  predictions/shelf/plain%2Fseed-0: 3 files, ")
    assert lines[-1].endswith("undo with regrade removed restore 1")
    assert models(root) == ["two words"]
    assert "1 problem" not in run_well("verify", "-w", root).out
    ran = run_well("removed", "restore", "-w", root)
    assert ran.err.startswith("restored plain (2 models) on shelf: 6 files, ")
    assert models(root) == ["plain/seed-0", "plain/seed-1", "two words"]


@pytest.mark.parametrize(("answer", "removed"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_remove_asks_on_a_terminal(root, answer, removed):
    with mock.patch("sys.stdin", Terminal(answer)):
        ran = run("models", "remove", "two words", "-w", root)
    assert "Remove? [y/N] " in ran.err
    assert ran.out == ""
    assert ran.code == (0 if removed else 1)
    assert ("nothing was changed" in ran.err) is not removed
    assert ("two words" in models(root)) is not removed


@pytest.mark.parametrize(
    "command",
    [("models", "remove", "plain"), ("testsets", "remove", "shelf"), ("labels", "remove", "own", "-t", "shelf")],
)
def test_remove_needs_yes_without_a_terminal(root, command):
    with mock.patch("sys.stdin", io.StringIO("y\n")):
        ran = run(*command, "-w", root)
    assert ran.code == 1
    assert ran.err.splitlines()[-1] == (
        "error: the question 'Remove?' cannot be answered without a terminal: give --yes"
    )
    assert len(models(root)) == 3


def test_removed_list_restore_and_purge_as_json(root):
    first = json.loads(run_well("labels", "remove", "own", "-t", "shelf", "-y", "--json", "-w", root).out)
    assert (first["number"], first["what"]) == (1, "labels own@1 of shelf")
    assert [record["place"] for record in first["records"]] == ["labels/shelf/own@1.parquet"]
    second = json.loads(run_well("models", "remove", "two words", "-y", "--json", "-w", root).out)
    assert second["command"] == "regrade models remove 'two words'"
    listed = json.loads(run_well("removed", "list", "--json", "-w", root).out)["removed"]
    assert [removal.pop("at")[:2] for removal in listed] == ["20", "20"]
    assert listed == [{key: removal[key] for key in listed[0]} for removal in (first, second)]
    assert json.loads(run_well("removed", "restore", "1", "--json", "-w", root).out)["number"] == 1
    purged = json.loads(run_well("removed", "purge", "-y", "--json", "-w", root).out)["purged"]
    assert [removal["number"] for removal in purged] == [2]
    assert_one_line(run("removed", "restore", "2", "-w", root), "unknown removal '2'")
    assert run_well("removed", "purge", "-w", root).err == "nothing to purge\n"


def test_rename_prints_where_and_what_keeps_the_old_name(root):
    ran = run_well("models", "rename", "two words", "three words", "--json", "-w", root)
    assert ran.err == "renamed two words to three words on shelf\n"
    assert json.loads(ran.out) == {"old": "two words", "new": "three words", "test_sets": ["shelf"], "notes": []}
    assert run_well("testsets", "rename", "shelf", "board", "-w", root).err == "renamed test set shelf to board\n"
    listed = json.loads(run_well("testsets", "list", "--json", "-w", root).out)["test_sets"]
    assert [(row["test_set"], row["models"], row["labels"]) for row in listed] == [("board", 3, "own@1")]
    assert_one_line(run("models", "rename", "a", "b", "-t", "board", "-w", root), "unknown model on board 'a'")
    run_well("verify", "-w", root)
