"""regrade gate: exit codes that continuous integration relies on, its file, and the files it writes."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from running import EXECUTABLE, run, run_on_terminal, run_process

import regrade
from regrade.studies.gate.study import GATE

IMAGES = 1000
WRONG = {"old": 100, "same": 100, "worse": 200, "new-s1": 80, "new-s2": 90}
"""The first images are wrong, by model; "same" and "old" predict the same."""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """Models with known counts of right images on two test sets; "short" lacks half of the images of one."""
    folder = tmp_path_factory.mktemp("gate") / "W"
    ws = regrade.init(folder)
    labels = np.arange(IMAGES) % 4
    models = {name: np.where(np.arange(IMAGES) < wrong, (labels + 1) % 4, labels) for name, wrong in WRONG.items()}
    for name in ("val", "test"):
        ws.testsets.add(name, labels, classes=["ant", "bee", "cat", "dog"])
        ws.models.import_predictions(models, test_set=name)
    return folder


def gate(workspace, *arguments: object):
    return run("gate", *arguments, "-w", workspace)


@pytest.mark.parametrize(
    ("candidate", "rules", "code", "verdict"),
    [
        ("same", ("--baseline", "old", "--margin", "1"), 0, "PASS"),
        ("worse", ("--baseline", "old", "--margin", "1"), 1, "FAIL"),
        ("same", ("--baseline", "old", "--require-better"), 2, "INCONCLUSIVE"),
        ("same", ("--floor", "85", "--floor", "dog=80"), 0, "PASS"),
        ("worse", ("--baseline", "old", "--max-negative-flips", "5"), 1, "FAIL"),
        ("new-s*", ("--baseline", "old", "--margin", "5"), 0, "PASS"),
        ("same", ("--baseline", "old", "--slice-margin", "dog=0.5"), 2, "INCONCLUSIVE"),
    ],
)
def test_gate_exit_code_is_the_verdict(workspace, candidate, rules, code, verdict):
    ran = gate(workspace, candidate, "-t", "val", *rules)
    assert (ran.code, f"gate: {verdict} " in ran.out) == (code, True), ran.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("same", "-t", "val", "--baseline", "odl", "--margin", "1"), "unknown model on val 'odl'; did you mean old"),
        (("same", "-t", "vla", "--floor", "1"), "unknown test set 'vla'"),
        (("same", "-t", "val", "--baseline", "", "--margin", "1"), "the value after --baseline is empty"),
        (("same", "-t", "val", "--margin", "1"), "name it with --baseline"),
        (("same", "-t", "val"), "at least one rule"),
        (("same", "--floor", "1"), "name the test sets"),
        (("-t", "val", "--floor", "1"), "name the candidate"),
        (("old", "-t", "val", "--baseline", "old", "--margin", "1"), "old belongs to both"),
        (("same", "-t", "val", "--floor", "high"), "--floor must be a number or NAME=NUMBER, got 'high'"),
        (("same", "-t", "val", "--floor", "ant=1", "--floor", "ant=2"), "--floor is given twice for ant"),
        (("same", "-t", "val", "--slice-margin", "1"), "--slice-margin must be NAME=NUMBER"),
        (("same", "-t", "val", "--floor", "cow=1"), "unknown slice of val 'cow'"),
        (("same", "-t", "val", "-t", "val", "--floor", "1"), "a test set is named twice"),
        (("same", "-t", "val", "--baseline", "old", "--margin", "nan"), "finite"),
        (("same", "-t", "val", "--marign", "1"), "--margin"),
        (("same", "-t", "val", "--floor", "1", "--json", "--csv"), "give only one of"),
        (("same", "-t", "val", "--floor", "1", "--junit", "/no/folder/x.xml"), "/no/folder/x.xml"),
        (("same", "-t", "val", "--config", "/no/gate.toml"), "/no/gate.toml cannot be read"),
    ],
)
def test_gate_errors_have_an_exit_code_of_their_own(workspace, arguments, message):
    ran = gate(workspace, *arguments)
    assert (ran.code, message in ran.err) == (3, True), ran.err


def test_gate_exit_codes_of_the_executable(workspace):
    arguments = ("gate", "worse", "-t", "val", "--floor", "85", "-w", workspace)
    assert (run_process(*arguments).code, run("gate", "--help").code) == (1, 0)
    # without a reader the verdict cannot be printed
    with subprocess.Popen([sys.executable, "-c", "pass"], stdin=subprocess.PIPE) as reader:
        reader.wait()
        assert subprocess.run([EXECUTABLE, *arguments], stdout=reader.stdin, check=False).returncode == 3


def test_gate_that_crashes_has_no_verdict(workspace, monkeypatch):
    def crash(*_):
        raise KeyError("a defect")

    monkeypatch.setattr("regrade.studies.gate.study.GATE", type(GATE)(**{**vars(GATE), "run": crash}))
    ran = gate(workspace, "same", "-t", "val", "--floor", "1")
    assert ran.code == 3 and "KeyError: 'a defect'" in ran.err


def test_gate_prints_the_same_each_time_and_the_same_as_python(workspace):
    arguments = ("same", "-t", "val", "-t", "test", "--baseline", "old", "--margin", "1", "--floor", "dog=80", "--json")
    first, second = (gate(workspace, *arguments) for _ in range(2))
    assert first.out == second.out and first.code == second.code == 0
    ws = regrade.open(workspace)
    result = ws.gate("same", test_sets=["val", "test"], baseline="old", margin=0.01, floors={"dog": 0.8})
    assert json.loads(first.out) == json.loads(json.dumps(result.as_dict()))
    assert result.passed and [row.test_set for row in result.rows] == ["val", "val", "test", "test"]


def test_gate_table_fits_a_terminal_of_80_columns(workspace):
    rules = (
        "--baseline",
        "old",
        "--margin",
        "1",
        "--max-negative-flips",
        "2",
        "--floor",
        "85",
        "--at-least",
        "balanced-accuracy=85",
    )
    ran = run_on_terminal("gate", "same", "-t", "val", *rules, "-w", workspace, columns=80)
    lines = ran.out.splitlines()
    assert any(line.strip().startswith("PASS") and "balanced-accuracy" in line and "1,000" in line for line in lines)
    assert max(map(len, lines)) <= 80


CONFIG = """
candidate = "same"
baseline = "old"
test_sets = ["val", "test"]
margin = 1
floors = {all = 85, dog = 80}
max_negative_flips = 2

[test_set.test]
margin = 2
floors = 70
"""


def test_gate_file_has_the_rules_of_each_test_set_and_options_replace_them(workspace, tmp_path):
    path = tmp_path / "gate.toml"
    path.write_text(CONFIG)
    rows = json.loads(gate(workspace, "--config", path, "--json").out)["rows"]
    assert [(row["test_set"], row["kind"], row["slice"], row["threshold"]) for row in rows] == [
        ("val", "not worse", "all", -0.01),
        ("val", "negative flips", "all", 0.02),
        ("val", "accuracy", "all", 0.85),
        ("val", "accuracy", "dog", 0.8),
        ("test", "not worse", "all", -0.02),
        ("test", "negative flips", "all", 0.02),
        ("test", "accuracy", "all", 0.7),
    ]
    ran = gate(workspace, "worse", "--config", path, "-t", "test", "--margin", "3", "--floor", "60", "--json")
    content = json.loads(ran.out)
    assert content["candidate"] == "worse" and ran.code == 1
    assert [row["threshold"] for row in content["rows"]] == [-0.03, 0.02, 0.6]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("margni = 1", "unknown setting 'margni'; did you mean margin?: rename or remove it"),
        ("margin = '1'", "margin must be a number in percent, such as 0.5, and is '1'"),
        ("margin = true", "margin must be a number"),
        ("margin = nan", "margin must be a finite number"),
        ("margin = 50", "a margin must lie between 0 and 20 points, got 50"),
        ("floors = {dog = 'x'}", "floors must be a number or a table of numbers"),
        ("test_sets = 'val'", "test_sets must be a list of names"),
        ("require_better = 1", "require_better must be true or false"),
        ("at_most = {eec = 1}", "unknown metric 'eec'"),
        ("test_sets = ['val']\n[test_set.tset]\nmargin = 1", "unknown test set of the gate 'tset'"),
        ("[test_set.val]\nbaseline = 'old'", "[test_set.val]: unknown setting 'baseline'"),
        ("margin = = 1\nlabels = 1", "is not valid TOML at line 1"),
    ],
)
def test_gate_file_is_checked_strictly(workspace, tmp_path, text, message):
    path = tmp_path / "gate.toml"
    path.write_text(text)
    ran = gate(workspace, "same", "--config", path)
    assert (ran.code, f"{path}" in ran.err, message in ran.err) == (3, True, True), ran.err


def test_gate_writes_a_summary_and_junit(workspace, tmp_path, monkeypatch):
    summary, junit = tmp_path / "summary.md", tmp_path / "junit.xml"
    arguments = (
        "worse",
        "-t",
        "val",
        "--baseline",
        "old",
        "--margin",
        "1",
        "--floor",
        "85",
        "--summary",
        summary,
        "--junit",
        junit,
    )
    ran = gate(workspace, *arguments)
    assert (ran.code, f"summary: {summary}" in ran.err, f"JUnit: {junit}" in ran.err) == (1, True, True)
    text = summary.read_text()
    assert text.startswith("## Gate: FAIL\n\n`worse` against `old` on `val`, in %\n") and "| FAIL | not worse |" in text
    assert [case.find("failure").get("type") for case in ET.parse(junit).iter("testcase")] == ["FAIL", "FAIL"]
    gate(workspace, *arguments)
    assert summary.read_text() == text  # replaced
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    gate(workspace, *arguments)
    assert summary.read_text() == 2 * text  # appended to what other commands of the step have written
