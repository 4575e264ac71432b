"""Multi-label accuracy with its bounds: novel predictions counted wrong, right, or estimated from a review."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from regrade.core import Estimate, InputError, Predictions, ReviewFrame, TestSet
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.metrics import Judged, MultilabelRule
from regrade.stats import judgements_needed, proportion, reviewed_accuracy, stratified_proportion
from regrade.studies.review import review_of
from regrade.studies.scoring import MultilabelScoring


@dataclass(frozen=True, eq=False)
class ReviewedLabels:
    """The labels of a grade, the review of what is novel under them, and the half-width that is wanted."""

    scoring: MultilabelScoring
    review: ReviewFrame | None = None
    half_width: float | None = None


@dataclass(frozen=True)
class MultilabelGrade:
    """One model on one slice: novel predictions counted wrong, right, and estimated; what is undefined is none."""

    lower: Estimate | None = None
    upper: Estimate | None = None
    reviewed: Estimate | None = None
    novel: int = 0
    judgements_needed: int | None = None


NOT_JUDGED = MultilabelGrade()
"""The grade where no judged image is in the slice."""


def grade_multilabel(
    predictions: Predictions,
    test_set: TestSet,
    labels: ReviewedLabels,
    masks: Mapping[str, BoolArray],
    *,
    confidence: float,
) -> dict[str, MultilabelGrade]:
    """Grade one model on each slice."""
    judged = labels.scoring.judge(predictions, test_set)
    rule = labels.scoring.rule
    if rule is MultilabelRule.CLASSES and not test_set.labeled[judged.scored].all():
        raise InputError("a judged image has no label of its own: a mean over classes needs one for each")
    right, novel = _with_verdicts(predictions, judged, labels.review, rule)
    grades = {}
    for name, mask in masks.items():
        inside = mask & judged.scored
        if not inside.any():
            continue
        reviewed, needed = _reviewed(predictions, judged, labels, inside, test_set.labels, confidence=confidence)
        grades[name] = MultilabelGrade(
            _accuracy(right, inside, test_set.labels, rule, confidence),
            _accuracy(right | novel, inside, test_set.labels, rule, confidence),
            reviewed,
            int((novel & inside).sum()),
            needed,
        )
    return grades


def _with_verdicts(
    predictions: Predictions, judged: Judged, frame: ReviewFrame | None, rule: MultilabelRule
) -> tuple[BoolArray, BoolArray]:
    """What is right, and what is still novel, once the verdicts of the review count."""
    if frame is None:
        return judged.right, judged.novel
    right, novel = judged.right.copy(), judged.novel.copy()
    images = np.flatnonzero(judged.novel)
    rows = frame.find(images, predictions.top1[images])
    known = (rows >= 0) & frame.judged[rows]
    right[images[known]] = np.isin(frame.states[rows[known]], rule.accepted)
    novel[images[known]] = False
    return right, novel


def _reviewed(
    predictions: Predictions,
    judged: Judged,
    labels: ReviewedLabels,
    inside: BoolArray,
    originals: IntArray,
    *,
    confidence: float,
) -> tuple[Estimate | None, int | None]:
    """The estimate from the review and how many more judgements it needs, where there is a review."""
    rule = labels.scoring.rule
    if labels.review is None:
        return None, None
    weights = _weights(originals, inside, rule)
    review = review_of(predictions, judged, labels.review, rule=rule, inside=inside, weights=weights)
    if review is None:
        return None, None
    estimate = reviewed_accuracy(review, confidence=confidence)
    if labels.half_width is None:
        return estimate, None
    return estimate, judgements_needed(review, labels.half_width, confidence=confidence)


def _accuracy(
    right: BoolArray, inside: BoolArray, originals: IntArray, rule: MultilabelRule, confidence: float
) -> Estimate:
    n = int(inside.sum())
    classes = originals[inside]
    if rule is MultilabelRule.CLASSES and len(np.unique(classes)) < n:
        return stratified_proportion(right[inside], classes, confidence=confidence)[0]
    # with one image a class the mean over classes is the mean over images
    return proportion(int((right & inside).sum()), n, confidence=confidence)


def _weights(originals: IntArray, inside: BoolArray, rule: MultilabelRule) -> FloatArray:
    """Each image's share of the accuracy under the rule."""
    if rule is MultilabelRule.IMAGES:
        return np.full(int(inside.sum()), 1 / inside.sum())
    _, classes, sizes = np.unique(originals[inside], return_inverse=True, return_counts=True)
    return 1 / (len(sizes) * sizes[classes])
