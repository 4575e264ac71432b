"""What mistakes are held against: the labels before and after people judged, and the right classes of each image."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from regrade.core import UNLABELED, LabelState, MistakeReview, Predictions, TestSet
from regrade.core.arrays import BoolArray, IntArray
from regrade.metrics import Judged, MultilabelRule
from regrade.studies.multilabel_grade import ReviewedLabels
from regrade.studies.review import with_verdicts

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
class Ground:
    """The labels of a study of mistakes, before and after people judged what was novel or labeled again.

    An answer is a mistake where it is neither correct nor unclear, by the rule of Vasudevan et al. 2022.
    """

    test_set: TestSet
    before: ReviewedLabels
    after: ReviewedLabels

    def judged_before(self, predictions: Predictions) -> Judged:
        """What the labels made of a model's answers at first."""
        return _asked(_lenient(self.before).scoring.judge(predictions, self.test_set), predictions)

    def judged_after(self, predictions: Predictions) -> Judged:
        """What labels and verdicts make of them now; what is still novel counts as wrong."""
        judged = _lenient(self.after).scoring.judge(predictions, self.test_set)
        return _asked(with_verdicts(predictions, judged, self.after.review, MultilabelRule.CLASSES), predictions)

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

    def mistakes_of(self, predictions: Predictions) -> MistakeList:
        """The mistakes that remain."""
        judged = self.judged_after(predictions)
        images = np.flatnonzero(judged.scored & ~judged.right)
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


def _lenient(labels: ReviewedLabels) -> ReviewedLabels:
    return replace(labels, scoring=replace(labels.scoring, rule=MultilabelRule.CLASSES))


def _asked(judged: Judged, predictions: Predictions) -> Judged:
    """Only the examples that a person was asked about count."""
    asked = predictions.counted
    return Judged(judged.right & asked, judged.novel & asked, judged.scored & asked)
