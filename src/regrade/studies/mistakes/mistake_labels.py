"""Reference labels of the mistakes study, before and after a review, and the right classes of each image."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from regrade.core import UNLABELED, LabelState, MistakeAnnotations, Predictions, TestSet
from regrade.core.arrays import BoolArray, IntArray
from regrade.metrics import Judged, MultilabelRule
from regrade.studies.multilabel_grade import ReviewedLabels
from regrade.studies.review import apply_review

_RIGHT = (LabelState.CORRECT, LabelState.UNCLEAR)


@dataclass(frozen=True, eq=False)
class ImageLabels:
    """The right classes of every image: those of image i are ``classes[starts[i]:starts[i + 1]]``."""

    starts: IntArray
    classes: IntArray

    def paired(self, examples: IntArray, predictions: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Pair each prediction (r,) with each right class of its image: row, prediction, right class."""
        sizes = self.starts[examples + 1] - self.starts[examples]
        rows = np.repeat(np.arange(len(examples)), sizes)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return rows, predictions[rows], self.classes[self.starts[examples][rows] + within]

    def any_of(self, table: BoolArray, examples: IntArray, predictions: IntArray) -> BoolArray:
        """Shape (r,): whether ``table`` (c, c) is true for a prediction and any right class of its image."""
        rows, predicted, right = self.paired(examples, predictions)
        matches = np.zeros(len(examples), dtype=bool)
        matches[rows[table[predicted, right] & (predicted >= 0)]] = True
        return matches


@dataclass(frozen=True, eq=False)
class MistakeList:
    """The mistakes of one model: images, ascending, and the predicted class of each.

    Mistakes ``by_people`` come from a review, which may cover other images than the labels.
    """

    source: str
    examples: IntArray
    classes: IntArray
    by_people: bool = False

    def __len__(self) -> int:
        return len(self.examples)


@dataclass(frozen=True, eq=False)
class ReviewedPredictions:
    """One model's predictions graded by the labels before the review, and by labels and decisions after it.

    Novel predictions count as wrong.
    """

    before: Judged
    after: Judged


@dataclass(frozen=True, eq=False)
class MistakeLabels:
    """The labels of the mistakes study before and after a review or relabeling.

    A prediction is a mistake if it is neither correct nor unclear (the rule of Vasudevan et al. 2022). Images of one of
    the ``clusters`` (n,) are dependent.
    """

    test_set: TestSet
    before: ReviewedLabels
    after: ReviewedLabels
    clusters: IntArray | None = None

    @property
    def unchanged(self) -> bool:
        """Whether the labels are the same before and after."""
        return self.after.review is None and self.after.scoring.labels is self.before.scoring.labels

    def grade(self, predictions: Predictions) -> ReviewedPredictions:
        """Grade one model's predictions by the labels before and after."""
        before = self.judged(predictions, self.before, MultilabelRule.CLASSES)
        after = before if self.unchanged else self.judged(predictions, self.after, MultilabelRule.CLASSES)
        return ReviewedPredictions(before, after)

    def judged(self, predictions: Predictions, labels: ReviewedLabels, rule: MultilabelRule) -> Judged:
        """Grade predictions by labels and their review; only images that the model should predict count."""
        by_labels = replace(labels.scoring, rule=rule).judge(predictions, self.test_set)
        judged = apply_review(predictions, by_labels, labels.review, rule)
        counted = predictions.counted
        return Judged(judged.right & counted, judged.novel & counted, judged.scored & counted)

    def states_after(self, predictions: IntArray) -> IntArray:
        """Shape (n,): the `LabelState` of one class per image, from labels and decisions."""
        states = self.after.scoring.labels.states_of(predictions)
        frame = self.after.review
        if frame is not None:
            images = np.flatnonzero(states == LabelState.UNJUDGED)
            rows = frame.find(images, predictions[images])
            reviewed = rows >= 0
            states[images[reviewed]] = frame.states[rows[reviewed]]
        return states

    def mistakes_of(self, predictions: Predictions, judged: ReviewedPredictions) -> MistakeList:
        """Return the mistakes that remain after the review."""
        images = np.flatnonzero(judged.after.scored & ~judged.after.right)
        return MistakeList(predictions.model, images, predictions.top1[images].astype(np.int64))

    @cached_property
    def right(self) -> ImageLabels:
        """The correct and unclear classes of each image; its original label if there are none."""
        labels, frame = self.after.scoring.labels, self.after.review
        chosen = np.isin(labels.states, _RIGHT)
        images, classes = [labels.examples[chosen]], [labels.classes[chosen]]
        if frame is not None:
            accepted = np.isin(frame.states, _RIGHT)
            images.append(frame.examples[accepted])
            classes.append(frame.classes[accepted])
        counts = np.bincount(np.concatenate(images), minlength=len(self.test_set))
        original = np.flatnonzero((counts == 0) & (self.test_set.labels != UNLABELED))
        examples = np.concatenate([*images, original])
        order = np.argsort(examples, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(examples, minlength=len(self.test_set)))])
        return ImageLabels(starts, np.concatenate([*classes, self.test_set.labels[original]]).astype(np.int64)[order])


def reviewed_mistakes(review: MistakeAnnotations) -> MistakeList:
    """Return the mistakes listed in a review."""
    order = np.argsort(review.examples, kind="stable")
    classes = review.classes[order].astype(np.int64)
    return MistakeList(review.model, review.examples[order], classes, by_people=True)


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
