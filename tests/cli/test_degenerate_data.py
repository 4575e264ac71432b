"""Degenerate data: every command prints one error line or valid intervals."""

import json
import math
from collections.abc import Iterator

import numpy as np
import pytest
from running import assert_one_line, run, run_well

import regrade
from regrade.tables import Columns

IMAGES = 24
ON_OLD = ("-t", "old")
COMMANDS = {
    "grade": ("grade", *ON_OLD, "-l", "own"),
    "compare": ("compare", *ON_OLD),
    "compare under labels": ("compare", *ON_OLD, "-l", "own", "--equivalence", "5"),
    "compare on a slice": ("compare", *ON_OLD, "--slice", "region=south"),
    "generalization": ("study", "generalization", "--original", "old", "--new", "new"),
    "similarity": ("study", "similarity", *ON_OLD),
    "geography": ("study", "geography", *ON_OLD, "--by", "region"),
    "mistakes": ("study", "mistakes", *ON_OLD, "-l", "own"),
    "plan accuracy": ("plan", "accuracy", "--half-width", "2", *ON_OLD),
    "plan difference": ("plan", "difference", *ON_OLD),
    "plan rank": ("plan", "rank", *ON_OLD),
    "plan disparity": ("plan", "disparity", "--by", "region", *ON_OLD),
}


def predictions(labels, *, models=3, wrong=None, identical=False):
    """The classes (n,) that each model predicts; ``wrong`` is the share of errors, by default one of its own."""
    rng, result = np.random.default_rng(1), []
    for model in range(models):
        share = 0.2 + 0.2 * model if wrong is None else wrong
        errors = rng.random(len(labels)) < share
        result.append(result[0] if identical and result else np.where(errors, (labels + 1) % 10, labels))
    return result


def add_set(workspace, folder, name, *, images=IMAGES, prefix="", lone=False, **options):
    """A test set with regions; with ``lone``, a single image is in the south."""
    labels = np.arange(images) % 10
    columns = predictions(labels, **options)
    lines = [",".join(["image", "label", "region", *(f"m{number}" for number in range(len(columns)))])]
    for row, label in enumerate(labels):
        region = "south" if (row == 0 if lone else row % 3 == 0) else "north"
        lines.append(
            ",".join([f"{prefix or name}{row}", str(label), region, *(str(column[row]) for column in columns)])
        )
    (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    workspace.models.import_predictions(
        folder / f"{name}.csv", test_set=name, classes="cifar-10", columns=Columns(groups=("region",))
    )


CASES = {
    "one model": {"models": 1},
    "one image": {"images": 1},
    "all right": {"wrong": 0},
    "all wrong": {"wrong": 1},
    "identical models": {"identical": True},
    "overlapping sets": {"prefix": "shared"},
    "a slice of one image": {"lone": True},
    "zero votes": {},
}

REFUSED = {
    "one model": {name for name in COMMANDS if name.startswith(("compare", "gen", "sim", "plan d", "plan r"))}
    - {"plan disparity"},
    "one image": {"generalization", "plan disparity"},
    **{name: {"generalization"} for name in ("all right", "all wrong", "identical models")},
}
"""Commands that have nothing to compute and print one line."""


@pytest.fixture(scope="module", params=CASES)
def case(request):
    return request.param


@pytest.fixture(scope="module")
def workspace(case, tmp_path_factory):
    """Two test sets of one case, and a label set with a sample that nobody has judged."""
    folder = tmp_path_factory.mktemp("edge")
    result = regrade.init(folder / "W")
    for name in ("old", "new"):
        add_set(result, folder, name, **CASES[case])
    run_well("labels", "create", *ON_OLD, "-w", folder / "W")
    if case == "zero votes":
        run_well("labels", "sample", *ON_OLD, "-l", "own", "--size", "4", "--out", folder / "s.csv", "-w", folder / "W")
    return folder / "W"


def refused(constant: str) -> float:
    raise AssertionError(f"{constant} in JSON")


def estimates(node: object) -> Iterator[dict]:
    """Every value with an interval in a JSON document."""
    if isinstance(node, dict):
        if {"value", "low", "high"} <= node.keys():
            yield node
        node = list(node.values())
    for part in node if isinstance(node, list) else ():
        yield from estimates(part)


@pytest.mark.parametrize("command", COMMANDS)
def test_command_gives_valid_intervals_or_one_line(case, workspace, command):
    ran = run(*COMMANDS[command], "--json", "-w", workspace)
    if command in REFUSED.get(case, ()):
        assert_one_line(ran)
        return
    intervals = list(estimates(json.loads(ran.out, parse_constant=refused)))
    assert intervals
    for estimate in intervals:
        low, value, high = estimate["low"], estimate["value"], estimate["high"]
        assert all(map(math.isfinite, (low, value, high)))
        assert low <= value + 1e-9 and value <= high + 1e-9 and low < high, estimate
    assert "nan" not in run_well(*COMMANDS[command], "-w", workspace).out.lower()


def test_agreement_without_votes_is_undefined(tmp_path):
    workspace = regrade.init(tmp_path / "W")
    add_set(workspace, tmp_path, "old")
    run_well("labels", "create", *ON_OLD, "-w", tmp_path / "W")
    run_well("review", "queue", *ON_OLD, "--labels", "own", "-w", tmp_path / "W")
    queue = workspace.ledger.queues.all()[0].name
    ran = run("review", "agreement", queue, "--json", "-w", tmp_path / "W")
    if ran.code:
        assert_one_line(ran)
    else:
        assert not list(estimates(json.loads(ran.out, parse_constant=refused)))


def test_nan_scores_are_rejected_in_one_line(tmp_path):
    workspace = regrade.init(tmp_path / "W")
    add_set(workspace, tmp_path, "old")
    scores = np.full((IMAGES, 10), 0.1)
    scores[3, 4] = np.nan
    np.save(tmp_path / "scores.npy", scores)
    ran = run("import", "predictions", tmp_path / "scores.npy", *ON_OLD, "--model", "broken", "-w", tmp_path / "W")
    assert ran.code and "nan" in ran.err.lower()
    assert_one_line(ran)
