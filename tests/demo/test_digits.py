"""The demonstration: eight classifiers trained, graded and compared, and used again the second time."""

import json
import os

import pytest
from running import run, run_process, run_well, snapshot

pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    workspace = tmp_path_factory.mktemp("demo") / "demo"
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # tests beside it use the other cores
    return workspace, run_process("demo", "-w", workspace, env=os.environ | one_thread)


def test_it_prints_the_grade_and_the_ranks(shown):
    _, ran = shown
    assert ran.code == 0, ran.err
    assert ran.out.count("support vectors") == 2
    assert "digits, in %" in ran.out and "ranks on digits" in ran.out
    assert ran.err.count("training") == 8
    assert "Warning" not in ran.err


def test_its_workspace_is_like_any_other(shown):
    workspace, _ = shown
    rows = json.loads(run_well("grade", "-t", "digits", "-w", workspace, "--json").out)["rows"]
    assert len(rows) == 8
    assert all(row["top1"]["n"] == 899 and row["top1"]["value"] <= row["top5"]["value"] for row in rows)
    assert rows[0]["top1"]["value"] > 0.97
    assert 0.75 < rows[-1]["top1"]["value"] < 0.9


def test_a_second_run_trains_nothing(shown):
    workspace, first = shown
    before = snapshot(workspace)
    again = run("demo", "-w", workspace)
    assert again.code == 0
    assert again.out == first.out
    assert "training" not in again.err
    assert snapshot(workspace) == before
