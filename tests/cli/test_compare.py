"""regrade compare on many models: people see what they can read, and all of it is in CSV and JSON."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from running import run, run_on_terminal, run_well

import regrade
from regrade.studies.compare.study import COMPARE

MODELS = 30


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """A test set with the predictions of thirty models."""
    folder = tmp_path_factory.mktemp("compare")
    answers = np.random.default_rng(0).integers(0, 10, (40, MODELS))
    lines = [",".join(["image", "label", *(f"m{model}" for model in range(MODELS))])]
    lines += [",".join([f"x{row}", str(row % 10), *map(str, answers[row])]) for row in range(40)]
    (folder / "all.csv").write_text("\n".join(lines) + "\n")
    regrade.init(folder / "W").models.import_predictions(folder / "all.csv", test_set="set", classes="cifar-10")
    return folder / "W"


def test_compare_has_every_pair_in_csv_and_json(workspace):
    command = ("compare", "-t", "set", "-w", workspace)
    rows = list(csv.DictReader(io.StringIO(run_well(*command, "--show", "pairs", "--csv").out)))
    pairs = json.loads(run_well(*command, "--json").out)["pairs"]
    assert len(rows) == len(pairs) == MODELS * (MODELS - 1) // 2
    assert [(row["first"], row["second"], float(row["exact"])) for row in rows] == [
        (pair["first"], pair["second"], pair["p_values"]["exact"]) for pair in pairs
    ]


def test_compare_truncates_printed_tables(workspace, monkeypatch):
    monkeypatch.setattr("regrade.studies.compare.study.COMPARE", replace(COMPARE, head=5, most=12))
    command = ("compare", "-t", "set", "-w", workspace)
    assert "the first 5 of 30 rows; use --csv or --json" in run_on_terminal(*command).out
    for form in ((), ("--markdown",), ("--latex",)):
        assert "the first 12 of 435 rows; use --csv or --json" in run_well(*command, "--show", "pairs", *form).out
    assert run_well(*command, "--show", "pairs", "--csv").out.count("\n") == 436


def test_compare_prints_all_rows_of_a_short_table(workspace):
    out = run_well("compare", "-t", "set", "-w", workspace).out
    assert all(f" m{model} " in out for model in range(MODELS)) and "the first" not in out


def test_compare_equivalence_is_in_points_and_states_its_correction(workspace):
    command = ("compare", "m1", "m2", "m3", "-t", "set", "-w", workspace, "--equivalence", "20")
    content = json.loads(run_well(*command, "--json").out)
    assert content["equivalence"] == 0.2
    equivalent = [pair for pair in content["pairs"] if pair["equivalence"] <= 0.05]
    assert 0 < len(equivalent) < 3
    for pair in content["pairs"]:
        result = "equivalent within the margin" if pair in equivalent else "no difference detected"
        assert pair["result"] == result
    note = (
        f"{len(equivalent)} of 3 pairs {'is' if len(equivalent) == 1 else 'are'} equivalent within ±20 points at the 5%"
    )
    assert note in " ".join(run_well(*command).out.split())


def test_compare_rejects_invalid_margins(workspace):
    for margin in ("0", "-1", "21"):
        message = run("compare", "m1", "m2", "-t", "set", "-w", workspace, f"--equivalence={margin}").err
        assert f"between 0 and 20 points, got {margin}" in message


def test_compare_never_calls_models_equal_without_a_test(workspace):
    out = run_well("compare", "m1", "m2", "--show", "pairs", "-t", "set", "-w", workspace, "--csv").out
    assert "no difference detected" in out and "equal" not in out and "equivalent" not in out
