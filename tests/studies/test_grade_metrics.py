"""Metrics of grade: built-in ones against slow restatements, and users' own functions."""

import numpy as np
import pytest
from scipy import special

from regrade.core import Estimate, InputError, Predictions, ScoreKind, UndefinedError, UnknownName
from regrade.studies.grade import metrics as module
from regrade.studies.grade.metrics import BUILT_IN, GradedImages, GradeMetric, chosen_metrics, graded_images

IMAGES, CLASSES = 300, 4
RNG = np.random.default_rng(5)
LOGITS = RNG.normal(0, 2, (IMAGES, CLASSES))
LABELS = RNG.integers(0, CLASSES, IMAGES)
PROBABILITIES = special.softmax(LOGITS, axis=1)
PREDICTED = LOGITS.argmax(axis=1)
CORRECT = PREDICTED == LABELS


def predictions(kind=ScoreKind.LOGITS, scores=LOGITS, **more) -> Predictions:
    return Predictions("net", "pets", "animals", PREDICTED[:, None], full_scores=scores, score_kind=kind, **more)


def images(stored: Predictions, inside=None) -> GradedImages:
    return graded_images(stored, LABELS, CORRECT, np.ones(IMAGES, dtype=bool) if inside is None else inside)


def estimate(name: str, stored: Predictions, inside=None) -> Estimate | None:
    return BUILT_IN[name].estimate(images(stored, inside), confidence=0.95)


def slow_ece(confidences, correct) -> float:
    total = 0.0
    for low in np.arange(15) / 15:
        inside = (confidences > low) & (confidences <= low + 1 / 15)
        if inside.any():
            total += abs(correct[inside].mean() - confidences[inside].mean()) * inside.sum()
    return total / len(confidences)


def test_ece_agrees_with_a_slow_restatement():
    confidences = PROBABILITIES.max(axis=1)
    ece = estimate("ece", predictions())
    assert ece.value == pytest.approx(slow_ece(confidences, CORRECT))
    assert 0 <= ece.low < ece.value < ece.high <= 1


def test_brier_and_nll_agree_with_their_definitions():
    certain = np.eye(CLASSES)[LABELS]
    assert estimate("brier", predictions()).value == pytest.approx(((PROBABILITIES - certain) ** 2).sum(axis=1).mean())
    losses = -np.log(PROBABILITIES[np.arange(IMAGES), LABELS])
    assert estimate("nll", predictions()).value == pytest.approx(losses.mean())


@pytest.mark.parametrize("name", BUILT_IN)
def test_metrics_are_the_same_from_logits_log_probabilities_and_probabilities(name):
    expected = estimate(name, predictions())
    for kind, scores in (
        (ScoreKind.PROBABILITIES, PROBABILITIES),
        (ScoreKind.LOG_PROBABILITIES, np.log(PROBABILITIES)),
    ):
        assert estimate(name, predictions(kind, scores)).value == pytest.approx(expected.value)


@pytest.mark.parametrize("name", BUILT_IN)
def test_metrics_do_not_depend_on_the_size_of_blocks(name, monkeypatch):
    expected = estimate(name, predictions())
    monkeypatch.setattr(module, "_ROWS", 7)
    assert estimate(name, predictions()) == expected


@pytest.mark.parametrize("name", BUILT_IN)
def test_metrics_use_the_images_of_the_slice_only(name):
    inside = np.arange(IMAGES) < 100
    part = Predictions(
        "net", "pets", "animals", PREDICTED[:100, None], full_scores=LOGITS[:100], score_kind=ScoreKind.LOGITS
    )
    alone = graded_images(part, LABELS[:100], CORRECT[:100], np.ones(100, dtype=bool))
    assert estimate(name, predictions(), inside) == BUILT_IN[name].estimate(alone, confidence=0.95)


@pytest.mark.parametrize("name", BUILT_IN)
def test_metrics_have_no_value_without_images(name):
    assert estimate(name, predictions(), np.zeros(IMAGES, dtype=bool)) is None


@pytest.mark.parametrize("name", BUILT_IN)
def test_metrics_that_use_scores_have_no_value_without_them(name):
    without = estimate(name, Predictions("net", "pets", "animals", PREDICTED[:, None]))
    assert (without is None) == BUILT_IN[name].uses_scores


def test_balanced_accuracy_is_the_mean_over_classes():
    expected = np.mean([CORRECT[label == LABELS].mean() for label in range(CLASSES)])
    assert estimate("balanced-accuracy", predictions()).value == pytest.approx(expected)


def test_confidences_of_the_best_classes_are_enough_for_ece():
    top = PROBABILITIES.max(axis=1)[:, None]
    stored = Predictions("net", "pets", "animals", PREDICTED[:, None], top, score_kind=ScoreKind.PROBABILITIES)
    assert estimate("ece", stored).value == pytest.approx(slow_ece(top[:, 0], CORRECT))
    assert estimate("brier", stored) is None


def test_images_without_a_prediction_are_left_out():
    classes = PREDICTED.copy()
    classes[:10] = -1
    stored = Predictions("net", "pets", "animals", classes[:, None], full_scores=LOGITS, score_kind=ScoreKind.LOGITS)
    assert estimate("nll", stored).n == IMAGES - 10


def test_balanced_accuracy_counts_images_without_a_prediction():
    classes = PREDICTED.copy()
    classes[:10] = -1
    assert estimate("balanced-accuracy", Predictions("net", "pets", "animals", classes[:, None])).n == IMAGES


def test_a_function_is_a_metric_named_after_itself():
    def mean_label(images, *, confidence):
        return Estimate(float(images.labels.mean()), 0.0, 3.0, len(images.labels), f"none {confidence:g}")

    (metric,) = chosen_metrics([mean_label])
    assert (metric.name, metric.heading) == ("mean_label", "mean label")
    assert metric.estimate(images(predictions()), confidence=0.9).value == pytest.approx(LABELS.mean())


def undefined(_, *, confidence):
    raise UndefinedError(f"no value at {confidence}")


def test_a_metric_that_has_no_value_is_none():
    assert GradeMetric("x", undefined).estimate(images(predictions()), confidence=0.95) is None


def test_metrics_by_name_are_each_used_once():
    assert [metric.name for metric in chosen_metrics(["nll", "ece", "nll"])] == ["nll", "ece"]


def test_unknown_metric_names_are_rejected_with_a_suggestion():
    with pytest.raises(UnknownName, match="brier"):
        chosen_metrics(["brie"])
    with pytest.raises(InputError, match="two different metrics"):
        chosen_metrics(["ece", GradeMetric("ece", undefined)])
    with pytest.raises(InputError, match="needs a name"):
        GradeMetric("", undefined)
