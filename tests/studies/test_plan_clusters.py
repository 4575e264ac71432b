"""Plans for test sets with households: single images, copies of images, assumed clusters, and the command line."""

import json

import numpy as np
import pytest
from running import run, run_well

import regrade
from regrade.core import TestSet as ImageSet

PLANS = {
    "accuracy": ("--half-width", "3"),
    "difference": ("good", "weak"),
    "rank": (),
    "disparity": ("--by", "region"),
    "review": ("good", "weak", "--difference", "5"),
}
COPIES = 3


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A set of 200 images, and one with three copies of each, which are a household; both with three models."""
    study = regrade.init(tmp_path_factory.mktemp("plans") / "study")
    rng = np.random.default_rng(0)
    space, labels = regrade.classes.cifar_10(), rng.integers(0, 10, 200)
    right = rng.random((3, 200)) < np.array([[0.9], [0.8], [0.65]])
    wrong = (labels + rng.integers(1, 10, (3, 200))) % 10
    for name, copies in (("once", 1), ("copied", COPIES)):
        places = np.repeat(np.arange(200), copies)
        ids = tuple(f"{place}-{number}" for number, place in enumerate(places))
        columns = {"household": tuple(map(str, places)), "region": tuple("north" if p % 3 else "south" for p in places)}
        study.store.add_test_set(ImageSet(name, space, ids, labels[places].astype(np.int32), columns))
        for model, own, mistaken in zip(("good", "fair", "weak"), right, wrong, strict=True):
            scores = np.eye(10)[np.where(own, labels, mistaken)[places]]
            study.models.add_predictions(model, scores, test_set=name)
    return study


def planned(study, plan, *options):
    return json.loads(run_well("plan", plan, *PLANS[plan], "-w", study.store.root, "--json", *options).out)


@pytest.mark.parametrize("plan", PLANS)
def test_households_of_one_image_change_nothing(study, plan):
    single, plain = (planned(study, plan, "-t", "once", *words) for words in ((), ("--clusters", "none")))
    for own, row in zip(single["rows"], plain["rows"], strict=True):
        assert own.get("design_effect", 1.0) == pytest.approx(1.0)
        assert (own["needed"], own["smallest"]) == (row["needed"], pytest.approx(row["smallest"]))
    assert any("over 200 clusters of images, by column household" in note for note in single["notes"])
    assert not any("cluster" in note for note in plain["notes"])


@pytest.mark.parametrize("plan", PLANS)
def test_copies_of_images_are_no_further_images(study, plan):
    """Three times as many are needed, and those at hand show no smaller difference than the originals do."""
    once, copied = (planned(study, plan, "-t", name) for name in ("once", "copied"))
    independent = planned(study, plan, "-t", "copied", "--clusters", "none")
    for own, row, plain in zip(once["rows"], copied["rows"], independent["rows"], strict=True):
        most = 1.3 if plan == "accuracy" else 1.06  # the variance of an accuracy over clusters is itself uncertain
        assert COPIES <= row["needed"] / own["needed"] * 1.001 <= COPIES * most
        if own["smallest"]:
            assert row["smallest"] == pytest.approx(own["smallest"], rel=0.05)
            assert plain["smallest"] < 0.8 * row["smallest"]
        assert plain["needed"] <= own["needed"] * 1.02


@pytest.mark.parametrize(
    "words",
    [
        ("accuracy", "--half-width", "2", "--accuracy", "80"),
        ("difference", "--difference", "2", "--disagreement", "10", "--images", "5000"),
        ("rank", "--accuracy", "80", "--accuracy", "75", "--accuracy", "72"),
        ("disparity", "--difference", "5", "--accuracy", "80", "--groups", "4", "--images", "3000"),
        ("review", "--difference", "2", "--differing", "12"),
    ],
)
def test_assumed_clusters_multiply_the_images(words):
    """By 1 + (5 - 1) 0.25 = 2."""
    plain, clustered = (
        json.loads(run_well("plan", *words, *more, "--json").out)
        for more in ((), ("--cluster-size", "5", "--correlation", "0.25"))
    )
    for row, own in zip(plain["rows"], clustered["rows"], strict=True):
        most = 1.1 if words[0] == "accuracy" else 1.0
        assert 2 * row["needed"] - 1 <= own["needed"] <= 2 * row["needed"] * most
        if row["smallest"]:
            assert own["smallest"] == pytest.approx(row["smallest"] * 2**0.5, rel=0.1)
    assert any("x correlation = 2" in note for note in clustered["notes"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--cluster-size", "5"), "both --cluster-size and --correlation"),
        (("--cluster-size", "5", "--correlation", "2"), "correlation"),
        (("--clusters", "household"), "require a test set: -t"),
    ],
)
def test_bad_input_is_one_line(words, message):
    ran = run("plan", "accuracy", "--half-width", "2", *words)
    assert ran.code != 0 and message in ran.err


def test_assumed_clusters_need_no_test_set(study):
    ran = run("plan", "rank", "-t", "once", "--cluster-size", "5", "--correlation", "0.1", "-w", study.store.root)
    assert ran.code != 0 and "--cluster-size, --correlation are assumed rates: omit them with -t" in ran.err
