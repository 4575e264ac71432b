"""A model's remaining mistakes under the current labels and decisions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regrade.core import Predictions, TestSet
from regrade.core.arrays import IntArray
from regrade.metrics import MultilabelRule
from regrade.studies.mistakes.mistake_labels import MistakeLabels
from regrade.studies.multilabel_grade import ReviewedLabels


@dataclass(frozen=True, eq=False)
class RemainingMistakes:
    """Images, ascending, whose prediction is judged neither correct nor unclear, and that prediction (-1 if missing).

    ``novel`` counts the predictions that nobody has judged.
    """

    examples: IntArray
    classes: IntArray
    novel: int


def remaining_mistakes(predictions: Predictions, test_set: TestSet, labels: ReviewedLabels) -> RemainingMistakes:
    """Return the mistakes by the rule of Vasudevan et al. 2022, without problematic images."""
    judged = MistakeLabels(test_set, labels, labels).judged(predictions, labels, MultilabelRule.CLASSES)
    images = np.flatnonzero(judged.scored & ~judged.right & ~judged.novel)
    return RemainingMistakes(images, predictions.top1[images].astype(np.int64), int(judged.novel.sum()))
