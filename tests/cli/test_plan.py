"""regrade plan: from numbers alone, and from a workspace."""

import json

import numpy as np
import pytest
from running import run, run_well

import regrade
from regrade.core import InputError
from regrade.stats import images_for_difference, images_for_half_width, images_per_group
from regrade.tables import Columns

IMAGES = 600


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """Three models of falling accuracy on a test set with two regions."""
    folder = tmp_path_factory.mktemp("plan")
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, IMAGES)
    lines = ["image,label,region,a,b,c"]
    hard = rng.random(IMAGES)
    for row, label in enumerate(labels):
        answers = [
            label if hard[row] < skill else (label + shift) % 10 for skill, shift in ((0.9, 1), (0.8, 2), (0.6, 2))
        ]
        lines.append(",".join([f"x{row}", str(label), "north" if row % 3 else "south", *map(str, answers)]))
    (folder / "all.csv").write_text("\n".join(lines) + "\n")
    ws = regrade.init(folder / "W")
    ws.models.import_predictions(
        folder / "all.csv", test_set="set", classes="cifar-10", columns=Columns(groups=("region",))
    )
    return folder / "W"


def rows(*arguments):
    return json.loads(run_well("plan", *arguments, "--json").out)["rows"]


class TestAssumed:
    def test_accuracy(self):
        planned = rows("accuracy", "--half-width", "0.5", "--accuracy", "80")
        assert [row["needed"] for row in planned] == [images_for_half_width(0.8, 0.005)]
        assert rows("accuracy", "--half-width", "1")[0]["needed"] == images_for_half_width(0.5, 0.01)

    def test_difference(self):
        (row,) = rows("difference", "--difference", "0.5", "--disagreement", "10", "--images", "50000")
        assert row["needed"] == images_for_difference(0.005, 0.1)
        assert row["smallest"] == pytest.approx(0.004, abs=0.0001)
        (row,) = rows("difference", "--difference", "0.5", "--disagreement", "10", "--pairs", "10", "--power", "90")
        assert row["needed"] == images_for_difference(0.005, 0.1, alpha=0.005, power=0.9)

    def test_rank(self):
        planned = rows("rank", "--accuracy", "76", "--accuracy", "74", "--accuracy", "75", "--disagreement", "10")
        assert [row["name"] for row in planned[:2]] == ["76% and 75%", "75% and 74%"]
        assert len(planned) == 4

    def test_disparity(self):
        (row,) = rows("disparity", "--accuracy", "80", "--difference", "5", "--images", "1700")
        assert row["needed"] == images_per_group(0.8, 0.75)
        (row,) = rows("disparity", "--accuracy", "80", "--difference", "5", "--groups", "6", "--confidence", "90")
        assert row["needed"] == images_per_group(0.8, 0.75, comparisons=30, confidence=0.9)

    def test_review(self):
        first, second = rows("review", "--difference", "0.5", "--differing", "12.7", "--images", "10000")
        assert first["needed"] < second["needed"] / 7


class TestMeasured:
    def test_accuracy(self, workspace):
        planned = rows("accuracy", "--half-width", "1", "-t", "set", "-w", workspace)
        assert [row["name"] for row in planned] == ["a", "b", "c"]
        assert all(row["available"] == IMAGES for row in planned)

    def test_difference_is_that_of_compare(self, workspace):
        planned = rows("difference", "a", "b", "-t", "set", "-w", workspace)
        (pair,) = json.loads(run_well("compare", "a", "b", "-t", "set", "-w", workspace, "--json").out)["pairs"]
        assert planned[0]["needed"] == pair["images_needed"]
        assert planned[0]["smallest"] == pair["smallest_difference"]
        assert rows("difference", "-t", "set", "-w", workspace, "--difference", "5")[2]["target"] == 0.05
        assert rows("difference", "a", "b", "-t", "set", "-w", workspace, "--difference", "-50")[0]["needed"] < 20

    def test_rank(self, workspace):
        planned = rows("rank", "-t", "set", "-w", workspace)
        assert [row["name"] for row in planned] == [
            "a and b",
            "b and c",
            "a ahead of all others",
            "every step of the ranking",
        ]

    def test_disparity(self, workspace):
        planned = rows("disparity", "-t", "set", "--by", "region", "-w", workspace)
        assert len(planned) == 3 and all(row["available"] == 200 for row in planned)
        named = rows("disparity", "-t", "set", "--by", "region", "--between", "north", "south", "-w", workspace)
        assert all(row["level"] == pytest.approx(0.05) for row in named)
        assumed = rows("disparity", "-t", "set", "--by", "region", "--difference", "10", "-w", workspace)
        assert all(row["target"] == pytest.approx(0.1) for row in assumed)

    def test_review(self, workspace):
        first, second = rows("review", "a", "b", "-t", "set", "-w", workspace)
        assert first["available"] < second["available"] == IMAGES
        assert first["needed"] < second["needed"]


class TestPython:
    """Arguments are the options of the commands; rates are fractions."""

    @pytest.mark.parametrize(
        ("plan", "arguments"),
        [
            (lambda plan: plan.accuracy(0.01, test_set="set", models=["a"]),
             "accuracy --half-width 1 -t set --model a"),
            (lambda plan: plan.difference(["a", "b"], test_set="set", power=0.9), "difference a b -t set --power 90"),
            (lambda plan: plan.rank(test_set="set"), "rank -t set"),
            (lambda plan: plan.disparity(0.1, test_set="set", by="region"),
             "disparity --difference 10 -t set --by region"),
            (lambda plan: plan.review(["a", "b"], test_set="set"), "review a b -t set"),
            (lambda plan: plan.accuracy(0.01, accuracy=[0.8]), "accuracy --half-width 1 --accuracy 80"),
            (lambda plan: plan.difference(difference=0.01, disagreement=0.1, confidence=0.9),
             "difference --difference 1 --disagreement 10 --confidence 90"),
        ],
    )  # fmt: skip
    def test_method_plans_as_the_command(self, workspace, plan, arguments):
        printed = run_well("plan", *arguments.split(), "-w", workspace, "--json").out
        assert plan(regrade.open(workspace).plan).as_dict() == json.loads(printed)

    def test_assumed_and_measured_rates_cannot_be_combined(self, workspace):
        with pytest.raises(InputError, match="omit them with -t"):
            regrade.open(workspace).plan.difference(["a", "b"], test_set="set", disagreement=0.1)
        with pytest.raises(InputError, match="models require a test set"):
            regrade.open(workspace).plan.difference(["a", "b"], difference=0.1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["accuracy", "--half-width", "0"], "--half-width must be above 0"),
        (
            ["accuracy", "--half-width", "1", "--accuracy", "101"],
            "--accuracy': Input should be less than or equal to 100",
        ),
        (["accuracy", "--half-width", "1", "--power", "100"], "power must lie between 0 and 100 %, got 100"),
        (["accuracy", "--half-width", "1", "--model", "a"], "require a test set"),
        (["difference", "--difference", "1"], "either --disagreement or --accuracy"),
        (
            ["difference", "--difference", "0", "--disagreement", "10", "--images", "0"],
            "Input should be greater than or equal to 1",
        ),
        (
            ["difference", "--difference", "1", "--disagreement", "10", "--pairs", "0"],
            "Input should be greater than or equal to 1",
        ),
        (["difference", "--difference", "20", "--disagreement", "10"], "cannot exceed --disagreement, 10 %"),
        (
            ["difference", "--difference", "5", "--accuracy", "150"],
            "--accuracy': Input should be less than or equal to 100",
        ),
        (["difference", "--difference", "nan", "--disagreement", "10"], "--difference': Input should be"),
        (["difference", "--difference", "0", "--disagreement", "10"], "--difference must not be 0"),
        (["review", "--difference", "0", "--differing", "10"], "--difference must not be 0"),
        (["disparity", "--difference", "0", "--accuracy", "90"], "--difference must not be 0"),
        (["disparity", "--difference", "-5", "--accuracy", "90"], "--difference must be above 0"),
        (["difference", "--difference", "1", "--disagreement", "10", "--images", "10000000001"], "less than or equal"),
        (["rank", "--accuracy", "70"], "two models, got 1"),
        (["rank", "--accuracy", "70", "--accuracy", "nan"], "--accuracy': Input should be"),
        (["disparity", "--accuracy", "80"], "give --accuracy and --difference"),
        (["disparity", "--accuracy", "5", "--difference", "10"], "cannot exceed --accuracy, 5 %"),
        (["disparity", "--accuracy", "50", "--difference", "5", "--groups", "1"], "two groups, got 1"),
        (["review", "--difference", "20", "--differing", "10"], "cannot exceed --differing, 10 %"),
    ],
)
def test_plan_rejects_invalid_assumptions(arguments, message):
    ran = run("plan", *arguments)
    assert ran.code in (1, 2)
    assert message in " ".join(ran.err.replace("│", " ").split())


@pytest.mark.parametrize(
    "arguments",
    [
        "accuracy --half-width 1e-9",
        "difference --difference 1e-9 --disagreement 10",
        "difference --difference 0.0001 --disagreement 10",
        "difference --difference 1e-300 --accuracy 10",
        "rank --accuracy 90 --accuracy 89.9999999",
        "rank --accuracy 90 --accuracy 89 --accuracy 88.9999",
        "disparity --difference 0.0001 --accuracy 90",
        "disparity --difference 1e-12 --accuracy 90",
        "review --difference 1e-7 --differing 10",
    ],
)
def test_plan_of_too_many_images_says_so(arguments):
    ran = run("plan", *arguments.split())
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "error: more than 10,000,000,000 images would be needed: relax the target\n"


def test_plan_prints_a_small_difference_with_its_digits():
    printed = run_well("plan", "difference", "--difference", "0.002", "--disagreement", "10").out
    assert "0.0020" in printed
    assert "90% and 89.99%" in run_well("plan", "rank", "--accuracy", "90", "--accuracy", "89.99").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["difference", "a", "b", "--difference", "0"], "--difference must not be 0"),
        (["difference", "a", "b", "--disagreement", "10"], "omit them with -t"),
        (["rank", "--confidence", "90"], "regrade.toml"),
        (["disparity"], "--by"),
        (["disparity", "--by", "planet"], "planet"),
        (["disparity", "--by", "region", "--between", "north", "west"], "name two of the groups"),
        (["review", "a"], "give the names of two models"),
        (["review", "a", "nobody"], "nobody"),
    ],
)
def test_plan_of_a_workspace_rejects_invalid_options(workspace, arguments, message):
    ran = run("plan", *arguments, "-t", "set", "-w", workspace)
    assert ran.code in (1, 2)
    assert message in " ".join(ran.err.replace("│", " ").split())
