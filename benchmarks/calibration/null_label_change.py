"""Null checks of the findings on a change of labels: gains and losses differ only by chance."""

from __future__ import annotations

import numpy as np

from benchmarks.calibration.checks import null_check
from benchmarks.calibration.worlds import SPACE, labeled_set, predicted
from regrade.core import LabelSet, LabelState, Unlisted
from regrade.core.arrays import BoolArray
from regrade.studies import LabelChange, MultilabelScoring, ReviewedLabels
from regrade.studies.label_change.analysis import label_change


@null_check("label change: models move", case="1 model, 400 images, 10% of labels changed in each direction")
def one_model(rng: np.random.Generator) -> LabelChange:
    return turned(rng, models=1, images=400)


@null_check("label change: models move", case="12 models, 400 images, 10% of labels changed in each direction")
def many_models(rng: np.random.Generator) -> LabelChange:
    return turned(rng, models=12, images=400)


def turned(rng: np.random.Generator, *, models: int, images: int) -> LabelChange:
    """Models that are correct half of the time under any labels, so that they differ only by chance."""
    test_set = labeled_set(images)
    correct = rng.random((models, images)) < 0.5
    before = rng.random(images) < 0.5
    after = before ^ (rng.random(images) < 0.1)
    labels = (_labels(before, 1), _labels(after, 2))
    return label_change(test_set, predicted(test_set, correct), before=labels[0], after=labels[1])


def _labels(first_right: BoolArray, version: int) -> ReviewedLabels:
    """Labels under which the first class is correct on these images (n,), and the second on the rest."""
    images = np.arange(len(first_right))
    states = np.full(len(images), LabelState.CORRECT, dtype=np.int8)
    labels = LabelSet(
        "labels", version, "simulated", len(SPACE), images, np.where(first_right, 0, 1), states,
        np.ones(len(images), dtype=bool), ("",) * len(images), Unlisted.WRONG,
    )  # fmt: skip
    return ReviewedLabels(MultilabelScoring(labels))
