"""regrade report: from the command to the page, and what it prints."""

import json
import shutil
from pathlib import Path

import pytest
from report_world import make_world
from running import assert_one_line, run, run_well


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return make_world(tmp_path_factory.mktemp("world")).store.root


def test_report_prints_the_path_and_the_findings(world):
    done = run_well("report", "all", "-w", world, "--original", "old", "--title", "Of all things")
    lines = done.out.splitlines()
    assert lines[-1] == str(world / "reports" / "all" / "index.html")
    page = Path(lines[-1]).read_text()
    assert "<h1>Of all things</h1>" in page
    assert lines[0].startswith("1. Models lose ")
    assert 4 <= len(lines) <= 8
    assert "grade on new" in done.err.splitlines()
    again = run("report", "all", "-w", world)
    assert_one_line(again, "exists already", "--force")
    run_well("report", "all", "-w", world, "--force", "--test-set", "new")
    data = json.loads((world / "reports" / "all" / "results.json").read_text())
    assert data["title"] == "A second grading of 6 models on new"


def test_out_option(world, tmp_path):
    out = tmp_path / "far" / "away"
    assert run_well("report", "-w", world, "--out", out, "-t", "new").out.endswith(f"{out / 'index.html'}\n")
    assert sorted(path.name for path in out.iterdir()) == ["figures", "index.html", "results.json", "tables"]


def test_report_fails_if_files_are_damaged_or_missing(world, tmp_path):
    root = Path(shutil.copytree(world, tmp_path / "W"))
    next(root.glob("predictions/new/*/topk.parquet")).unlink()
    ran = run("report", "broken", "-w", root, "-t", "new")
    assert ran.code == 1 and ran.out.endswith("index.html\n") and Path(ran.out.splitlines()[-1]).is_file()
    assert "topk.parquet is damaged (it is missing)" in ran.err and "Errno" not in ran.err
    last = ran.err.splitlines()[-1]
    assert last.startswith("error: ") and last.endswith("could not be answered: files are damaged or missing")


def test_report_rejects_name_and_out(world, tmp_path):
    done = run("report", "name", "-w", world, "--out", tmp_path / "r")
    assert done.code == 2
    assert "give a NAME or --out, not both" in done.err


@pytest.mark.parametrize("name", ["../up", "a/b", " ", "."])
def test_report_name_must_not_be_a_path(world, name):
    assert_one_line(run("report", name, "-w", world), "is not a valid report name")


def test_an_empty_workspace_is_one_line(tmp_path):
    run_well("init", tmp_path / "W")
    assert_one_line(run("report", "-w", tmp_path / "W"), "there is nothing to report yet")
    assert not (tmp_path / "W" / "reports").exists()


def test_unknown_test_set(world):
    assert_one_line(run("report", "-w", world, "-t", "odl"), "unknown test set 'odl'", "old")


def test_page_of_published_predictions_is_small(pack):
    done = run_well("report", "pack", "-w", pack, "--force")
    page = Path(done.out.splitlines()[-1])
    assert page.stat().st_size < 2_000_000
    assert "4 of 67 models may be the best on imagenet-val." in done.out
    assert "47% of the best model's errors on imagenet-val are correct under" in done.out
