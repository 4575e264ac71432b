"""The study of confidence: numbers against other libraries, verdicts, shift, missing scores, tables and findings."""

import json

import numpy as np
import pytest
from scipy import special
from sklearn.metrics import log_loss

import regrade
from regrade.core import InputError, MismatchError, Predictions, ScoreKind, TestSet, UnknownName
from regrade.store import PredictionSource, manifest_of
from regrade.studies import (
    AcceptanceVerdict,
    CalibrationVerdict,
    ConfidencePart,
    ConformalScore,
    CoverageVerdict,
    figure,
    findings,
)

CLASSES = 10
IMAGES = {"old": 600, "new": 400}


def drawn(rng, images, *, noise=0.0):
    """Logits, and labels that follow their softmax; ``noise`` is what the model does not know."""
    logits = 3 * rng.standard_normal((images, CLASSES))
    truth = special.softmax(logits + noise * rng.standard_normal(logits.shape), axis=1)
    labels = (truth.cumsum(axis=1) < rng.random((images, 1))).sum(axis=1).clip(max=CLASSES - 1)
    return logits, labels


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Model `calibrated`, the same with logits 3 times as large, one with logits, and one without scores."""
    workspace, rng = regrade.init(tmp_path_factory.mktemp("confidence") / "W"), np.random.default_rng(0)
    classes = workspace.testsets.class_space("digits")
    for name, images in IMAGES.items():
        logits, labels = drawn(rng, images, noise=0.0 if name == "old" else 3.0)
        ids = tuple(f"{name} {number}" for number in range(images))
        workspace.store.add_test_set(TestSet(name, classes, ids, labels))
        add = workspace.models.add_predictions
        add("calibrated", special.softmax(logits, axis=1), test_set=name)
        add("sharp", special.softmax(3 * logits, axis=1), test_set=name)
        best = logits.argmax(axis=1)[:, None].astype(np.int32)
        store(workspace, Predictions("classes only", name, "digits", best))
    return workspace


def store(workspace, predictions):
    test_set = workspace.store.test_set(predictions.test_set)
    manifest = manifest_of(predictions, test_set, test_set.class_space, PredictionSource())
    workspace.store.add_predictions(test_set, [(predictions, manifest)], test_set.class_space)


@pytest.fixture(scope="module")
def study(world):
    return world.study.confidence("old", ["new"], target=0.8)


def row(study, model, test_set="old"):
    return next(row for row in study.rows if (row.model, row.test_set) == (model, test_set))


def test_calibrated_and_sharp_model_are_told_apart(study):
    assert row(study, "calibrated").verdict is CalibrationVerdict.NOT_SHOWN
    assert row(study, "sharp").verdict is CalibrationVerdict.OVERCONFIDENT
    assert row(study, "calibrated", "new").verdict is CalibrationVerdict.OVERCONFIDENT


def test_losses_match_scikit_learn(world, study):
    test_set = world.store.test_set("old")
    scores = np.asarray(world.store.predictions.read(test_set, "sharp").full_scores, dtype=np.float64)
    floored = np.maximum(scores, 2.0**-24)
    expected = log_loss(test_set.labels, floored / floored.sum(axis=1, keepdims=True), labels=range(CLASSES))
    sharp = row(study, "sharp")
    assert sharp.nll.value == pytest.approx(expected, rel=2e-3)
    one_hot = np.eye(CLASSES)[test_set.labels]
    assert sharp.brier.value == pytest.approx(((scores - one_hot) ** 2).sum(axis=1).mean(), rel=1e-5)
    assert sharp.overconfidence.value == pytest.approx(scores.max(axis=1).mean() - sharp.accuracy.value, abs=1e-4)
    assert sharp.images == 600


def test_temperature_undoes_what_made_the_model_sharp(study):
    sharp, calibrated = row(study, "sharp"), row(study, "calibrated")
    assert sharp.scaled.temperature == pytest.approx(3 * calibrated.scaled.temperature, rel=0.05)
    assert sharp.scaled.nll.value < sharp.nll.value
    assert sharp.scaled.ece.value < sharp.ece.value / 2
    assert row(study, "sharp", "new").scaled.temperature == sharp.scaled.temperature


def test_selective_accuracy_is_that_of_the_most_confident(world, study):
    test_set = world.store.test_set("old")
    predictions = world.store.predictions.read(test_set, "calibrated")
    sure = np.asarray(predictions.full_scores).max(axis=1)
    right = predictions.top1 == test_set.labels
    for part in row(study, "calibrated").selective:
        chosen = sure >= np.sort(sure)[::-1][int(np.ceil(part.requested * 600)) - 1]
        assert part.accuracy.value == pytest.approx(right[chosen].mean())
        assert part.coverage == pytest.approx(chosen.mean())


def test_conformal_sets_cover_on_like_images_and_fall_short_on_the_shifted_set(study):
    for model in ("calibrated", "sharp"):
        old, new = row(study, model), row(study, model, "new")
        assert {sets.score for sets in old.sets} == {ConformalScore.LAC, ConformalScore.APS}  # few classes
        assert all(sets.verdict is CoverageVerdict.NOT_SHOWN for sets in old.sets)
        assert all(sets.verdict is CoverageVerdict.BELOW for sets in new.sets)
        assert [sets.calibration_images for sets in (*old.sets, *new.sets)] == [300, 300, 600, 600]
        assert all(sets.images == 300 for sets in old.sets)


def test_certified_threshold_is_carried_to_the_new_set(study):
    old, new = row(study, "calibrated").accepted, row(study, "calibrated", "new").accepted
    assert old.threshold == new.threshold
    assert old.right / old.n >= 0.8
    assert old.accuracy is None  # selected on these images
    assert new.accuracy.value == new.right / new.n < 0.8


def test_models_are_best_first_and_those_without_scores_are_named(study):
    assert [(row.model, row.test_set) for row in study.rows][:2] == [("calibrated", "old"), ("calibrated", "new")]
    assert study.notes == ("left out, without stored scores: classes only",)


def test_a_model_has_the_same_numbers_alone(world, study):
    alone = world.study.confidence("old", ["new"], models=["sharp"], target=0.8)
    corrected = {"verdict": None, "least_expected": None}  # for fewer rows
    sets = [part.as_dict() | corrected for part in alone.rows[1].sets]
    assert sets == [part.as_dict() | corrected for part in row(study, "sharp", "new").sets]


def test_verdicts_never_contradict_the_numbers_next_to_them(study):
    for entry in study.rows:
        shown = entry.overconfidence.low > 0, entry.overconfidence.high < 0, entry.calibration_error.low > 0
        assert (entry.verdict is not CalibrationVerdict.NOT_SHOWN) == any(shown)
        assert entry.overconfidence.method == "mover, 8 together 95%"
        for sets in entry.sets:
            assert (sets.verdict is CoverageVerdict.BELOW) == (sets.coverage.value < sets.least_expected)
        if entry.shifted:
            below = entry.accepted.accuracy.high < entry.accepted.target
            assert (entry.accepted.verdict is AcceptanceVerdict.BELOW) == below


def test_logits_give_the_same_as_their_softmax(world):
    test_set = world.store.test_set("old")
    scores = np.log(np.maximum(np.asarray(world.store.predictions.read(test_set, "calibrated").full_scores), 1e-7))
    best = scores.argmax(axis=1)[:, None].astype(np.int32)
    kept = {"full_scores": scores.astype(np.float16), "score_kind": ScoreKind.LOGITS}
    store(world, Predictions("logits", "old", "digits", best, **kept))
    result = world.study.confidence("old", models=["calibrated", "logits"])
    first, second = (row(result, name) for name in ("calibrated", "logits"))
    assert second.nll.value == pytest.approx(first.nll.value, rel=1e-2)
    assert second.overconfidence.value == pytest.approx(first.overconfidence.value, abs=2e-3)


def test_scores_of_the_best_classes_give_what_they_can(world):
    test_set = world.store.test_set("old")
    full = world.store.predictions.read(test_set, "calibrated")
    scores = np.asarray(full.full_scores).max(axis=1)[:, None]
    kept = {"scores": scores, "score_kind": ScoreKind.PROBABILITIES}
    store(world, Predictions("top 1", "old", "digits", full.classes[:, :1], **kept))
    result = world.study.confidence("old", models=["top 1"])
    assert (result.rows[0].brier, result.rows[0].nll, result.rows[0].scaled, result.rows[0].sets) == (
        None,
        None,
        None,
        (),
    )
    assert ConfidencePart.SETS not in result.parts
    with pytest.raises(InputError, match="requires the scores of all classes"):
        result.part(ConfidencePart.SETS)
    assert result.figure().alt


def test_without_scores_the_study_says_what_to_do(world):
    with pytest.raises(
        InputError, match=r"no model has stored scores of the classes of old \(.*classes only\): regrade predict --keep"
    ):
        world.study.confidence("old", models=["classes only"])


def test_models_that_predict_other_classes_are_left_out_for_that_reason(world):
    cifar, test_set = world.testsets.class_space("cifar-10"), world.store.test_set("old")
    scores = np.eye(CLASSES, dtype=np.float16)[test_set.labels]
    best = test_set.labels[:, None].astype(np.int32)
    kept = {"full_scores": scores, "score_kind": ScoreKind.PROBABILITIES}
    predictions = Predictions("other classes", "old", cifar.name, best, **kept)
    world.store.add_predictions(
        test_set, [(predictions, manifest_of(predictions, test_set, cifar, PredictionSource()))], cifar
    )
    notes = world.study.confidence("old", models=["sharp", "classes only", "other classes"]).notes
    assert notes == (
        "left out, without stored scores: classes only",
        "left out, with predictions of other classes than those of old: other classes",
    )
    with pytest.raises(InputError, match=r"no model has stored scores .*other classes than those of old"):
        world.study.confidence("old", models=["other classes"])


def test_options_that_make_no_sense_are_rejected(world):
    for options, message in (
        ({"new": ["old"]}, "must differ"),
        ({"miss": 0.0}, "--miss must be between 0% and 100%, got 0%"),
        ({"target": 1.0}, "--target must be between 0% and 100%, got 100%"),
    ):
        with pytest.raises(InputError, match=message):
            world.study.confidence("old", **options)
    with pytest.raises(UnknownName):
        world.study.confidence("old", models=["sharpe"])


def test_sets_with_other_classes_are_rejected(world):
    classes = world.testsets.class_space("cifar-10")
    world.store.add_test_set(TestSet("cifar", classes, ("0",), np.array([0])))
    with pytest.raises(MismatchError, match="cifar has other classes"):
        world.study.confidence("old", ["cifar"])


def test_findings_name_what_does_not_hold_on_the_new_set(study):
    headlines = [finding.headline for finding in findings(study)]
    coverage = row(study, "calibrated", "new").sets[0].coverage.value
    assert headlines == [
        f"Conformal sets of 90% cover {100 * coverage:.1f}% on new",
        "A confidence that means 80% accuracy on old does not on new",
        "sharp is overconfident on old",
    ]


def test_tables_json_and_figure_of_every_part(study):
    assert set(study.parts) == set(ConfidencePart)
    for part in study.parts:
        table = study.part(part)
        assert len(table.rows) >= 4
        assert table.to_arrow().num_rows == len(table.rows)
    written = json.loads(json.dumps(study.as_dict()))
    assert written["rows"][0]["sets"][0]["score"] == "LAC"
    assert "risks" not in written["rows"][0]
    assert "overconfident on old" in figure(study).alt
