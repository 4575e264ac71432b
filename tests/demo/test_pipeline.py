"""The demo: from training to a report in one command; a second run reuses the first."""

import json

import pytest
from running import run, run_well, snapshot

pytest.importorskip("sklearn")
pytest.importorskip("mlxtend")
pytest.importorskip("vl_convert")

import regrade


def test_demo_prints_five_findings_and_the_report(shown):
    workspace, ran = shown
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert [line[:2] for line in lines[:5]] == ["1.", "2.", "3.", "4.", "5."]
    assert "Models lose" in lines[0] and "points on uci-digits" in lines[0]
    assert lines[-1] == f"Report: {workspace / 'reports' / 'demo' / 'index.html'}"
    assert (workspace / "reports" / "demo" / "index.html").stat().st_size < 2_000_000
    assert ran.err.count("training") == 12  # eight classifiers, two ensembles, a baseline and its remedy
    assert "Warning" not in ran.err


def test_demo_report_has_every_chapter(shown):
    workspace, _ = shown
    results = json.loads((workspace / "reports" / "demo" / "results.json").read_text())
    page = (workspace / "reports" / "demo" / "index.html").read_text()
    assert "could not be answered" not in page
    provenance = results["behind"]
    assert [row["test_set"] for row in provenance["test_sets"]] == ["mnist", "uci-digits", "mnist-train"]
    assert {(row["ensemble"], row["test_set"]) for row in provenance["checkpoints"]} == {
        ("small network", "mnist"),
        ("small network", "uci-digits"),
        ("wide network", "mnist"),
        ("wide network", "uci-digits"),
    }
    assert len(provenance["predictions"]) == 16
    assert "The images that confuse small network also confuse wide network" in page
    assert "mnist and half of uci raises accuracy on uci-half" in page


def test_demo_workspace_can_be_graded(shown):
    workspace, _ = shown
    rows = json.loads(run_well("grade", "-t", "mnist", "-w", workspace, "--json").out)["rows"]
    assert len(rows) == 8
    assert all(row["top1"]["n"] == 2500 and row["top1"]["value"] <= row["top5"]["value"] for row in rows)
    assert rows[0]["top1"]["value"] > 0.93
    new = json.loads(run_well("grade", "-t", "uci-digits", "-w", workspace, "--json").out)["rows"]
    assert {row["top1"]["n"] for row in new} == {1797}
    assert all(row["top1"]["value"] < 0.8 for row in new)


def test_demo_hard_set_is_a_test_set_and_a_slice(shown):
    workspace, _ = shown
    rows = json.loads(run_well("grade", "-t", "mnist", "--slice", "mnist-hard", "-w", workspace, "--json").out)["rows"]
    hard = {row["model"]: row["top1"] for row in rows if row["slice"] == "mnist-hard"}
    everywhere = {row["model"]: row["top1"] for row in rows if row["slice"] != "mnist-hard"}
    assert len(hard) == 8 and all(accuracy["n"] == 250 for accuracy in hard.values())
    assert all(hard[model]["high"] < everywhere[model]["low"] for model in hard)
    assert "mnist-hard" in run_well("testsets", "list", "-w", workspace).out


def test_demo_opens_a_review_of_predictions(shown):
    workspace, ran = shown
    assert "opening a review of 40 predictions" in ran.err and f"regrade serve -w {workspace}" in ran.err
    queues = regrade.open(workspace).ledger.queues
    (queue,) = queues.all()
    assert queue.name == "uci-digits novel predictions" and queues.sizes([queue.id]) == {queue.id: 40}


def test_demo_second_run_trains_nothing_and_gives_the_same_findings(shown):
    workspace, first = shown
    before = {path: stamp for path, stamp in snapshot(workspace).items() if not str(path).startswith("reports")}
    again = run("demo", "-w", workspace)
    assert again.code == 0
    assert again.out == first.out
    assert "training" not in again.err
    after = {path: stamp for path, stamp in snapshot(workspace).items() if not str(path).startswith("reports")}
    assert after == before
