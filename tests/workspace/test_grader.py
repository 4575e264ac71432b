"""Grading batch by batch equals grading the whole arrays."""

import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score

import regrade
from regrade.core import InputError, MismatchError, UndefinedError

RNG = np.random.default_rng(5)
LABELS = RNG.integers(0, 8, 90)
SCORES = RNG.normal(size=(90, 8)) + 1.5 * np.eye(8)[LABELS]
PROBABILITIES = np.exp(SCORES) / np.exp(SCORES).sum(axis=1, keepdims=True)


def graded(grader, y_pred, y_true, ends):
    for start, end in zip([0, *ends], [*ends, len(y_true)], strict=True):
        grader.update(y_pred[start:end], y_true[start:end])
    return grader.compute().as_dict()


@given(st.lists(st.integers(0, 90), max_size=6).map(sorted))
def test_any_batches_give_the_grade_of_the_whole(ends):
    for y_pred in (SCORES, PROBABILITIES, SCORES.argmax(axis=1)):
        assert graded(regrade.Grader(), y_pred, LABELS, ends) == regrade.grade(LABELS, y_pred).as_dict()


def test_accuracy_equals_scikit_learn():
    grader = regrade.Grader(model="net")
    graded(grader, torch.tensor(SCORES, dtype=torch.float32, requires_grad=True), torch.tensor(LABELS), [32, 64])
    expected = accuracy_score(LABELS, SCORES.argmax(axis=1))
    assert grader.compute()["net"].top1.value == pytest.approx(expected)


def test_scores_are_kept_only_if_wanted_by_metrics():
    metrics = ["ece", "brier", "nll"]
    grader = regrade.Grader(keep_scores=True, metrics=metrics)
    expected = regrade.grade(LABELS, PROBABILITIES, metrics=metrics).as_dict()
    assert graded(grader, PROBABILITIES, LABELS, [40]) == expected
    assert grader.kept_bytes == 90 * (48 + 8 * 8)
    small = regrade.Grader(metrics=["ece"])
    graded(small, SCORES, LABELS, [40])
    assert small.kept_bytes == 90 * 48 and "ece" not in small.compute()["model"].values


def test_names_and_lists_of_classes():
    names = [f"c{i}" for i in range(8)]
    texts = [names[label] for label in LABELS]
    expected = regrade.grade(texts, SCORES, classes=names).as_dict()
    assert graded(regrade.Grader(classes=names), SCORES, texts, [30]) == expected
    lists = [[label, 0] for label in LABELS.tolist()]
    assert graded(regrade.Grader(), SCORES, lists, [30]) == regrade.grade(lists, SCORES).as_dict()
    shifted = regrade.grade(LABELS + 3, LABELS + 3, classes=range(3, 11)).as_dict()
    assert graded(regrade.Grader(classes=range(3, 11)), LABELS + 3, LABELS + 3, [30]) == shifted


def test_batches_may_reuse_their_memory():
    grader, scores, labels = regrade.Grader(keep_scores=True), np.empty((30, 8)), np.empty(30, dtype=int)
    for start in range(0, 90, 30):
        scores[:], labels[:] = SCORES[start : start + 30], LABELS[start : start + 30]
        grader.update(torch.from_numpy(scores), torch.from_numpy(labels))
    assert grader.compute().as_dict() == regrade.grade(LABELS, SCORES).as_dict()


def test_reset_forgets_and_compute_may_be_repeated():
    grader = regrade.Grader()
    grader.update(SCORES[:10], LABELS[:10])
    assert grader.compute().as_dict() == grader.compute().as_dict() and len(grader) == 10
    assert repr(grader) == "<Grader of 'model': 10 images in 1 batches>"
    grader.reset()
    assert len(grader) == grader.kept_bytes == 0
    with pytest.raises(UndefinedError, match="there is no image to grade yet"):
        grader.compute()
    assert graded(grader, SCORES, LABELS, []) == regrade.grade(LABELS, SCORES).as_dict()


def test_merge_adds_the_batches_of_other_processes():
    graders = [regrade.Grader(), regrade.Grader()]
    graders[0].update(SCORES[:50], LABELS[:50])
    graders[1].update(SCORES[50:], LABELS[50:])
    graders[0].merge(pickle.loads(pickle.dumps(graders[1])))
    assert graders[0].compute().as_dict() == regrade.grade(LABELS, SCORES).as_dict()
    narrow = regrade.Grader()
    narrow.update(SCORES[:5, :3], [0] * 5)
    with pytest.raises(MismatchError, match="different classes"):
        graders[0].merge(narrow)


@pytest.mark.parametrize(
    ("y_pred", "y_true", "message"),
    [
        (SCORES[:3], LABELS[:4], "y_pred of batch 2 has 3 rows, y_true of batch 2 has 4"),
        (SCORES[:3, :5], LABELS[:3], r"y_pred of batch 2' have shape \(3, 5\): expected \(examples, 8\)"),
        (LABELS[:3], LABELS[:3], "has labels as numbers, classes, but earlier batches labels as numbers, scores"),
        (SCORES[:1], [[0]], "has labels as lists, scores"),
        (np.full((1, 8), np.nan), [0], "row 1: not a finite number"),
    ],
)
def test_update_says_what_is_wrong_and_keeps_the_batches(y_pred, y_true, message):
    grader = regrade.Grader()
    grader.update(SCORES[:5], LABELS[:5])
    with pytest.raises(InputError, match=message):
        grader.update(y_pred, y_true)
    assert len(grader) == 5
