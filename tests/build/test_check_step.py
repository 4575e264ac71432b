"""regrade build check: its tables on a small build, and the errors of its command."""

import json
import shutil

import numpy as np
import pytest
from build_world import make_build
from running import assert_one_line, run

from regrade.build.check_report import CheckPart
from regrade.build.files import RevisionCollection
from regrade.core import InputError, ModelSpec, Predictions, UnknownName
from regrade.store import Manifest, PredictionSource


def store_model(workspace, name, test_set_name, right, features=None):
    """Predictions of a model that is right on some images, with embeddings."""
    test_set = workspace.store.test_set(test_set_name)
    space = test_set.class_space
    classes = np.where(right, test_set.labels, (test_set.labels + 1) % len(space)).astype(np.int32)[:, None]
    predicted = Predictions(name, test_set.name, space.name, classes, features=features)
    manifest = Manifest(
        ModelSpec(name, space.name), test_set.name, test_set.digest, space.name, space.digest, len(test_set), 1,
        predicted.digest, None, False, PredictionSource(), "0", features=features is not None,
    )  # fmt: skip
    workspace.store.add_predictions(test_set, [(predicted, manifest)], space)


@pytest.fixture(scope="module")
def small_build(tmp_path_factory):
    """A build with one revision, and two models; the embeddings of the second tell the pool from the reference set."""
    workspace = make_build(tmp_path_factory.mktemp("check"))
    workspace.build.sample("new", "matched-frequency", per_class=8)
    rng = np.random.default_rng(0)
    for name, size, shift in (("pool", 120, 3.0), ("reference", 72, 0.0)):
        for model, moved in (("plain", 0.0), ("telling", shift)):
            features = (rng.normal(size=(size, 6)) + moved).astype(np.float16)
            store_model(workspace, model, name, rng.random(size) < 0.8, features)
    return workspace


@pytest.fixture(scope="module")
def result(small_build):
    return small_build.build.check("new", against=("reference",))


def outcomes(result):
    return {check.subject: check.outcome.value for check in result.checks}


def test_checks_have_typed_outcomes(result):
    assert outcomes(result) == {
        "follows from the answers": "passed",
        "incomplete classes": "passed",
        "class balance": "passed",
        "missing licenses": "issue",
        "differing licenses": "tip",
        "one author per class": "passed",
        "few answers": "passed",
        "excluded workers": "passed",
        "review of images": "tip",
        "review of near duplicates": "tip",
        "selection noise": "passed",
        "discriminator": "passed",
        "duplicates in the set": "passed",
        "ids of reference": "passed",
        "images of reference": "passed",
        "near duplicates in reference": "passed",
    }
    assert not result.sound
    assert result.table().rows[0][1] == "issue"  # issues come first


def test_seven_authors_prove_nothing(result):
    """All images are told apart, and yet seven authors with different embeddings may be chance."""
    rows = {row.model: row.auc for row in result.discriminators}
    assert rows["telling"].value == pytest.approx(1)
    assert rows["telling"].low < 0.5
    assert rows["plain"].method == "cross-fitted delong, 2 together 95%"
    assert len(result.part(CheckPart.DISCRIMINATOR).rows) == 2


def test_embeddings_that_differ_are_an_issue(answered):
    """Without authors, every image is on its own; the classes of both sides have the same shares."""
    answered.build.sample("new", "top", per_class=20)
    rng = np.random.default_rng(1)
    for name, size, shift in (("pool", 180, 3.0), ("reference", 120, 0.0)):
        for model, moved in (("plain", 0.0), ("telling", shift)):
            features = (rng.normal(size=(size, 6)) + moved).astype(np.float16)
            store_model(answered, model, name, rng.random(size) < 0.8, features)
    result = answered.build.check("new")
    rows = {row.model: row for row in result.discriminators}
    assert (rows["telling"].new_images, rows["telling"].original_images) == (40, 120)
    assert rows["telling"].auc.low > 0.7
    assert rows["plain"].auc.low < 0.5
    assert outcomes(result)["discriminator"] == "issue"
    only_plain = answered.build.check("new", models=("plain",))
    assert outcomes(only_plain)["discriminator"] == "passed"


def test_bins_and_strategies(result):
    assert result.models == ("plain", "telling")
    rows = {row.name: row for row in result.strategies}
    assert list(rows) == [
        "reference", "revision 0", "matched-frequency", "matched-frequency --debias", "threshold 0.7", "top"
    ]  # fmt: skip
    assert (rows["reference"].images, rows["reference"].change) == (72, None)
    assert {row.images for row in result.strategies[1:]} == {24}
    assert rows["matched-frequency"].difference.value == 0  # the same seed draws the revision again
    assert rows["top"].frequency > rows["threshold 0.7"].frequency > rows["matched-frequency"].frequency
    drawn = sum(row.drawn.n for row in result.bins if row.model == "plain" and row.drawn)
    assert drawn == 24
    for part in (CheckPart.CHECKS, CheckPart.BINS, CheckPart.STRATEGIES):
        assert result.part(part).rows


def test_strategies_take_parameters_and_store_nothing(small_build):
    before = RevisionCollection(small_build.store.root).numbers("new")
    result = small_build.build.check("new", per_class=5, lowest=0.5, seed=3, by=("exact",), models=("plain",))
    assert RevisionCollection(small_build.store.root).numbers("new") == before
    rows = {row.name: row for row in result.strategies}
    assert {row.images for row in result.strategies[2:]} == {15}
    assert "threshold 0.5" in rows
    assert rows["matched-frequency"].difference.value != 0 or rows["matched-frequency"].images != 24
    assert result.models == ("plain",)


def test_an_image_of_the_reference_set_and_later_answers_are_issues(tmp_path):
    workspace = make_build(tmp_path)
    workspace.build.sample("new", "matched-frequency", per_class=8)
    examples = RevisionCollection(workspace.store.root).read("new", 0).sample.examples
    number = examples[0][0].removeprefix("pool-")
    shutil.copy(tmp_path / "pool" / f"{number}.png", tmp_path / "reference" / "000.png")
    workspace.build.sample("new", "top", per_class=41, min_answers=0)
    assert outcomes(workspace.build.check("new", revision=0))["images of reference"] == "issue"
    last = workspace.build.check("new")
    assert last.revision == 1
    assert outcomes(last)["incomplete classes"] == "issue"
    assert (last.models, last.bins) == ((), ())
    assert last.strategies[1].accuracy is None
    with pytest.raises(InputError, match="no model has predictions on the pool"):
        last.part(CheckPart.BINS)


def test_excluded_workers_and_few_answers(answered):
    answered.build.sample("new", "top", per_class=8, min_answers=0)
    counted = outcomes(answered.build.check("new"))
    assert (counted["excluded workers"], counted["few answers"]) == ("issue", "passed")
    assert counted["duplicates in the set"] == counted["images of reference"] == "not applicable"
    answered.build.sample("new", "top", per_class=8, exclude_workers=["worker-001", "worker-002"])
    left_out = answered.build.check("new")
    assert outcomes(left_out)["excluded workers"] == "tip"
    assert outcomes(left_out)["missing licenses"] == "issue"
    assert outcomes(left_out)["one author per class"] == "not applicable"


def test_a_keyword_matched_revision_is_drawn_again(answered):
    answered.build.sample("new", "keyword-matched", per_class=8)
    answered.build.sample("new", "keyword-matched", per_class=8, continue_from=0, seed=2)
    assert outcomes(answered.build.check("new"))["follows from the answers"] == "passed"


def test_check_on_the_command_line(small_build):
    arguments = ("build", "check", "new", "--workspace", small_build.store.root, "--by", "exact")
    ran = run(*arguments)
    assert ran.code == 3
    assert "new, revision 0: 1 issue\n" in ran.out
    assert "change from reference" in run(*arguments, "--show", "strategies").out
    content = json.loads(run(*arguments, "--json").out)
    assert content["sound"] is False
    assert content["strategies"][1]["accuracy"]["n"] == 24


def test_check_rejects_bad_options(small_build):
    folder = small_build.store.root
    for words, options in (
        (("pool is the pool",), ("--against", "pool")),
        (("pool is the pool",), ("--original", "pool")),
        (("unknown revision of new '7'",), ("--revision", "7")),
        (("unknown model on pool 'x'",), ("--model", "x")),
        (("leave features out of --by",), ("--by", "features")),
        (("unknown test set 'y'",), ("--against", "y")),
    ):
        assert_one_line(run("build", "check", "new", "--workspace", folder, *options), *words)
    with pytest.raises(UnknownName, match="unknown build 'nope'"):
        small_build.build.check("nope")
