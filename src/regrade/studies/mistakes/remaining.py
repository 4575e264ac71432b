"""One model's mistakes that remain under the labels and verdicts of today."""

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
    """Images, ascending, whose answer people found neither correct nor unclear, and that answer; -1 for none.

    ``novel`` counts the answers that no one has judged: they may be mistakes, or not.
    """

    examples: IntArray
    classes: IntArray
    novel: int


def remaining_mistakes(predictions: Predictions, test_set: TestSet, labels: ReviewedLabels) -> RemainingMistakes:
    """Find what is wrong by the rule of Vasudevan et al. 2022; problematic images are left out."""
    judged = MistakeLabels(test_set, labels, labels).judged(predictions, labels, MultilabelRule.CLASSES)
    images = np.flatnonzero(judged.scored & ~judged.right & ~judged.novel)
    return RemainingMistakes(images, predictions.top1[images].astype(np.int64), int(judged.novel.sum()))
