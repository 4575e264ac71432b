"""Null checks of the findings of `grade`: label sets under which accuracy does not change."""

from __future__ import annotations

import numpy as np

from benchmarks.calibration.checks import null_check
from benchmarks.calibration.worlds import model_names
from regrade.core import ClassSpace, LabelSet, LabelState, Predictions, TestSet, Unlisted
from regrade.core.arrays import IntArray
from regrade.metrics import MultilabelRule
from regrade.studies import Grade, MultilabelScoring, ReviewedLabels, Scoring
from regrade.studies.grade.analysis import grade

_SPACE = ClassSpace("ten", tuple("abcdefghij"))
_CHANGED = "grade: labels change the accuracy"


@null_check(_CHANGED, case="labels drawn twice, 1 model, 200 images")
def one_model(rng: np.random.Generator) -> Grade:
    return labeled_twice(rng, models=1, images=200, rule=MultilabelRule.IMAGES)


@null_check(_CHANGED, case="labels drawn twice, best of 30 equal models, 1,000 images")
def best_of_many(rng: np.random.Generator) -> Grade:
    return labeled_twice(rng, models=30, images=1_000, rule=MultilabelRule.IMAGES)


@null_check(_CHANGED, case="labels drawn twice, best of 8 equal models, mean over classes, 500 images")
def mean_over_classes(rng: np.random.Generator) -> Grade:
    return labeled_twice(rng, models=8, images=500, rule=MultilabelRule.CLASSES)


def labeled_twice(rng: np.random.Generator, *, models: int, images: int, rule: MultilabelRule) -> Grade:
    """Equal models, graded against the labels and against other labels of a part of the images, equally often wrong."""
    truth = np.arange(images) % len(_SPACE)
    test_set = TestSet("set", _SPACE, tuple(map(str, range(images))), _redrawn(rng, truth, 0.1))
    scoring, answers = Scoring(test_set), [_redrawn(rng, truth, 0.2)[:, None] for _ in range(models)]
    predictions = [
        (Predictions(name, "set", _SPACE.name, classes), scoring)
        for name, classes in zip(model_names(models), answers, strict=True)
    ]
    labels = _label_set(_redrawn(rng, truth, 0.1), rng.random(images) < 0.6)
    return grade(test_set, predictions, labels=ReviewedLabels(MultilabelScoring(labels, rule)))


def _redrawn(rng: np.random.Generator, truth: IntArray, share: float) -> IntArray:
    """Classes (n,), a share of which is replaced at random."""
    drawn = rng.integers(0, len(_SPACE), len(truth))
    return np.where(rng.random(len(truth)) < share, drawn, truth).astype(np.int32)


def _label_set(classes: IntArray, covered: np.ndarray) -> LabelSet:
    """One correct class for each covered image."""
    n = len(classes)
    states = np.full(n, LabelState.CORRECT, dtype=np.int8)
    unlisted = Unlisted.WRONG
    return LabelSet("again", 1, "set", len(_SPACE), np.arange(n), classes, states, covered, ("",) * n, unlisted)
