"""What mistakes are held against: the labels before and after people judged, and the right classes of each image."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from regrade.core import UNLABELED, LabelState, MistakeReview, Predictions, TestSet
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

    def paired(self, examples: IntArray, answers: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Each answer (r,) with each right class of its image: the row it is from, the answer, the right class."""
        sizes = self.starts[examples + 1] - self.starts[examples]
        rows = np.repeat(np.arange(len(examples)), sizes)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return rows, answers[rows], self.classes[self.starts[examples][rows] + within]

    def any_of(self, table: BoolArray, examples: IntArray, answers: IntArray) -> BoolArray:
        """Shape (r,): whether ``table`` (c, c) holds for an answer and any right class of its image."""
        rows, given, right = self.paired(examples, answers)
        found = np.zeros(len(examples), dtype=bool)
        found[rows[table[given, right] & (given >= 0)]] = True
        return found


@dataclass(frozen=True, eq=False)
class MistakeList:
    """The mistakes of one model: images, ascending, and the class it gave each.

    Those ``by_people`` are from a review, which may have seen other images than the labels do.
    """

    source: str
    examples: IntArray
    classes: IntArray
    by_people: bool = False

    def __len__(self) -> int:
        return len(self.examples)


@dataclass(frozen=True, eq=False)
class JudgedPredictions:
    """What the labels made of one model's answers at first, and what labels and verdicts make of them now.

    What is still novel counts as wrong.
    """

    before: Judged
    after: Judged


@dataclass(frozen=True, eq=False)
class MistakeLabels:
    """The labels of a study of mistakes, before and after people judged what was novel or labeled again.

    An answer is a mistake where it is neither correct nor unclear, by the rule of Vasudevan et al. 2022.
    """

    test_set: TestSet
    before: ReviewedLabels
    after: ReviewedLabels

    @property
    def unchanged(self) -> bool:
        """Whether nothing was judged since."""
        return self.after.review is None and self.after.scoring.labels is self.before.scoring.labels

    def look(self, predictions: Predictions) -> JudgedPredictions:
        """Hold one model's answers against the labels, before and after."""
        before = self.judged(predictions, self.before, MultilabelRule.CLASSES)
        after = before if self.unchanged else self.judged(predictions, self.after, MultilabelRule.CLASSES)
        return JudgedPredictions(before, after)

    def judged(self, predictions: Predictions, labels: ReviewedLabels, rule: MultilabelRule) -> Judged:
        """What labels and their review make of a model's answers; only the images that it was asked about count."""
        judged = replace(labels.scoring, rule=rule).judge(predictions, self.test_set)
        found = apply_review(predictions, judged, labels.review, rule)
        asked = predictions.counted
        return Judged(found.right & asked, found.novel & asked, found.scored & asked)

    def states_after(self, answers: IntArray) -> IntArray:
        """Shape (n,): what labels and verdicts say of one class for each image, as `LabelState`."""
        states = self.after.scoring.labels.states_of(answers)
        frame = self.after.review
        if frame is not None:
            images = np.flatnonzero(states == LabelState.UNJUDGED)
            rows = frame.find(images, answers[images])
            known = rows >= 0
            states[images[known]] = frame.states[rows[known]]
        return states

    def mistakes_of(self, predictions: Predictions, look: JudgedPredictions) -> MistakeList:
        """The mistakes that remain."""
        images = np.flatnonzero(look.after.scored & ~look.after.right)
        return MistakeList(predictions.model, images, predictions.top1[images].astype(np.int64))

    @cached_property
    def right(self) -> ImageLabels:
        """The correct and unclear classes of each image; its own label where there are none."""
        labels, frame = self.after.scoring.labels, self.after.review
        chosen = np.isin(labels.states, _RIGHT)
        images, classes = [labels.examples[chosen]], [labels.classes[chosen]]
        if frame is not None:
            said = np.isin(frame.states, _RIGHT)
            images.append(frame.examples[said])
            classes.append(frame.classes[said])
        counts = np.bincount(np.concatenate(images), minlength=len(self.test_set))
        alone = np.flatnonzero((counts == 0) & (self.test_set.labels != UNLABELED))
        where = np.concatenate([*images, alone])
        order = np.argsort(where, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(where, minlength=len(self.test_set)))])
        return ImageLabels(starts, np.concatenate([*classes, self.test_set.labels[alone]]).astype(np.int64)[order])


def reviewed_mistakes(review: MistakeReview) -> MistakeList:
    """The mistakes that a review lists."""
    order = np.argsort(review.examples, kind="stable")
    classes = review.classes[order].astype(np.int64)
    return MistakeList(review.model, review.examples[order], classes, by_people=True)
