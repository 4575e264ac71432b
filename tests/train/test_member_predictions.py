"""Predictions of trained members: stored after the last epoch, as regrade predict would store them."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from running import run_well
from training_world import SMALL

from regrade.core import AlreadyStored
from regrade.studies import RemedyMeasure

MODEL = "trained:small/seed-0"


def train(workspace, name="small", **options):
    chosen = {"seeds": (0, 1), "test_sets": ["pets-val"], **SMALL, **options}
    return workspace.train.ensemble(name, "pets-train", **chosen)


def read(workspace, model=MODEL):
    test_set = workspace.store.test_set("pets-val")
    return workspace.store.predictions.read(test_set, model), workspace.store.predictions.manifest("pets-val", model)


def test_stored_predictions_are_those_of_regrade_predict(workspace):
    train(workspace)
    predictions, manifest = read(workspace)
    shown = run_well("predict", MODEL, "-t", "pets-val", "-w", workspace.store.root, "--json").out
    assert json.loads(shown)["pairs"][0]["already"]
    shutil.rmtree(workspace.store.predictions.path("pets-val", MODEL))
    run_well("predict", MODEL, "-t", "pets-val", "--keep", "scores", "-w", workspace.store.root)
    predicted, expected = read(workspace)
    assert np.array_equal(predictions.classes, predicted.classes)
    assert predictions.scores == pytest.approx(predicted.scores, abs=1e-3)
    assert np.asarray(predictions.full_scores) == pytest.approx(np.asarray(predicted.full_scores), rel=2e-3, abs=2e-3)
    assert np.array_equal(predictions.fingerprints, predicted.fingerprints)
    changing = {"digest": "", "created": "", "runtime": "", "runtime_note": "", "files": {}}
    assert replace(manifest, **changing) == replace(expected, **changing)


def test_predictions_are_those_of_the_scores_after_the_last_epoch(workspace):
    result = train(workspace)
    kept = workspace.store.ensembles.read(workspace.store.test_set("pets-val"), "small")
    labels = workspace.store.test_set("pets-val").labels
    for place, member in enumerate(result.members):
        predictions, _ = read(workspace, f"trained:small/seed-{member.seed}")
        scores = np.take_along_axis(np.asarray(kept.scores(place, 2)[:], dtype=float), predictions.classes, axis=1)
        assert predictions.scores == pytest.approx(scores, rel=2e-3, abs=2e-3)
        assert member.test_accuracies["pets-val"].value == pytest.approx((predictions.top1 == labels).mean())


def test_second_run_and_resumed_run_leave_stored_predictions(workspace):
    train(workspace, finish=False)
    folder = workspace.store.predictions.path("pets-val", MODEL)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    train(workspace)
    assert before == {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    shutil.rmtree(folder)
    train(workspace)
    assert read(workspace)[0].k == 3


def test_predictions_of_a_removed_training_are_refused_before_training(workspace):
    train(workspace, finish=False)
    shutil.rmtree(workspace.store.root / "training" / "small")
    with pytest.raises(AlreadyStored, match=r"trained:small/seed-0 on pets-val are stored, but its network is not"):
        train(workspace, "small", learning_rate=0.01)
    assert not (workspace.store.root / "training" / "small").exists()


def test_study_of_remedies_works_right_after_training(workspace):
    train(workspace, "plain")
    train(workspace, "slow", learning_rate=0.001)
    result = workspace.study.remedies(["pets-val"], "plain", ["slow"])
    assert result.rows[0].measure is RemedyMeasure.ACCURACY and result.rows[0].seeds == 2
