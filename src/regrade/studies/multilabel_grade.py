"""Multi-label accuracy with its bounds: novel predictions counted wrong, right, or estimated from a review."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from regrade.core import Estimate, InputError, Predictions, ReviewFrame, TestSet
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.metrics import Judged, MultilabelRule
from regrade.stats import PartialReview, judgements_needed, proportion, reviewed_accuracy, stratified_proportion
from regrade.studies.review import review_of, with_verdicts
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
    now = with_verdicts(predictions, judged, labels.review, rule)
    grades = {}
    for name, mask in masks.items():
        inside = mask & judged.scored & predictions.counted
        if not inside.any():
            continue
        lower = _accuracy(now.right, inside, test_set.labels, rule, confidence)
        upper = _accuracy(now.right | now.novel, inside, test_set.labels, rule, confidence)
        novel = int((now.novel & inside).sum())
        review = _review(predictions, judged, labels, inside, test_set.labels)
        if review is None:
            grades[name] = MultilabelGrade(lower, upper, None, novel)
            continue
        reviewed = _within(reviewed_accuracy(review, confidence=confidence), lower, upper)
        needed = _draws_needed(review, labels, confidence)
        grades[name] = MultilabelGrade(lower, upper, reviewed, novel, needed)
    return grades


def _review(
    predictions: Predictions, judged: Judged, labels: ReviewedLabels, inside: BoolArray, originals: IntArray
) -> PartialReview | None:
    if labels.review is None:
        return None
    rule = labels.scoring.rule
    weights = _weights(originals, inside, rule)
    return review_of(predictions, judged, labels.review, rule=rule, inside=inside, weights=weights)


def _within(reviewed: Estimate, lower: Estimate, upper: Estimate) -> Estimate:
    """The estimate kept between what novel predictions counted wrong and counted right allow."""
    value = min(max(reviewed.value, lower.value), upper.value)
    return replace(reviewed, value=value, low=max(reviewed.low, lower.low), high=min(reviewed.high, upper.high))


def _draws_needed(review: PartialReview, labels: ReviewedLabels, confidence: float) -> int | None:
    """How many more judgements of the sample, which all models share, bring this model to the wanted half-width."""
    if labels.half_width is None or labels.review is None:
        return None
    needed = judgements_needed(review, labels.half_width, confidence=confidence)
    left = int((review.novel & ~review.judged).sum())
    if not needed:
        return needed
    return math.ceil(needed * int((~labels.review.judged).sum()) / left)


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
