"""Null checks of the findings of `study multilabel`: the labels turn as many predictions right as wrong by chance."""

from __future__ import annotations

import numpy as np

from benchmarks.calibration.checks import null_check
from benchmarks.calibration.worlds import SPACE, correct_predictions, labeled_set, predicted
from regrade.core import LabelSet, LabelState, Unlisted
from regrade.studies import Multilabel, MultilabelScoring, ReviewedLabels
from regrade.studies.multilabel.analysis import multilabel

_CHANGES = "multilabel: median accuracy differs from top-1"


@null_check(_CHANGES, case="1 model, 400 images, 10% of labels changed")
def one_model(rng: np.random.Generator) -> Multilabel:
    return changed(rng, models=1, images=400)


@null_check(_CHANGES, case="30 models, 400 images, 10% of labels changed")
def many_models(rng: np.random.Generator) -> Multilabel:
    return changed(rng, models=30, images=400)


@null_check(_CHANGES, case="5 models, 40 images, 10% of labels changed")
def few_images(rng: np.random.Generator) -> Multilabel:
    return changed(rng, models=5, images=40)


def changed(rng: np.random.Generator, *, models: int, images: int) -> Multilabel:
    """Models that are right half of the time and err on the same images; changed labels accept the other class."""
    test_set = labeled_set(images)
    correct = correct_predictions(rng, np.full(models, 0.5), images=images)
    kept = rng.random(images) >= 0.1
    labels = LabelSet(
        "labels", 1, test_set.name, len(SPACE), np.arange(images), np.where(kept, 0, 1),
        np.full(images, LabelState.CORRECT, dtype=np.int8), np.ones(images, dtype=bool), ("",) * images,
        Unlisted.WRONG,
    )  # fmt: skip
    return multilabel(test_set, predicted(test_set, correct), ReviewedLabels(MultilabelScoring(labels)), rng=rng)
