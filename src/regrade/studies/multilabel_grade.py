"""Multi-label accuracy with its bounds: novel predictions counted wrong, right, or estimated from a review."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from regrade.core import Estimate, InputError, Predictions, ReviewFrame, TestSet, UndefinedError
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.metrics import Judged, MultilabelRule
from regrade.stats import (
    PartialReview,
    anytime_accuracy,
    judgements_needed,
    proportion,
    reviewed_accuracy,
    stratified_proportion,
)
from regrade.studies.review import review_of, with_verdicts
from regrade.studies.scoring import MultilabelScoring


@dataclass(frozen=True, eq=False)
class ReviewedLabels:
    """The labels of a grade, the review of what is novel under them, and the half-width that is wanted."""

    scoring: MultilabelScoring
    review: ReviewFrame | None = None
    half_width: float | None = None

    @property
    def scored(self) -> BoolArray:
        """Shape (n,): the examples that count: those that the labels score and no verdict calls problematic."""
        scored = self.scoring.labels.scored.copy()
        if self.review is not None:
            scored[self.review.problematic] = False
        return scored


@dataclass(frozen=True)
class MultilabelGrade:
    """One model on one slice: novel predictions counted wrong, right, and estimated; what is undefined is none.

    ``anytime`` is the accuracy that a complete review of these images would give, valid at any stopping point.
    """

    lower: Estimate | None = None
    upper: Estimate | None = None
    reviewed: Estimate | None = None
    novel: int = 0
    judgements_needed: int | None = None
    anytime: Estimate | None = None


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
        inside = mask & now.scored & predictions.counted
        if not inside.any():
            continue
        lower = accuracy_by_rule(now.right, inside, test_set.labels, rule=rule, confidence=confidence)
        novel = int((now.novel & inside).sum())
        upper = lower
        if novel:
            upper = accuracy_by_rule(now.right | now.novel, inside, test_set.labels, rule=rule, confidence=confidence)
        bounds = MultilabelGrade(lower, upper, None, novel)
        review = _review(predictions, judged, labels, mask & judged.scored & predictions.counted, test_set.labels)
        grades[name] = bounds if review is None else _estimated(bounds, review, labels, confidence)
    return grades


def _estimated(
    bounds: MultilabelGrade, review: PartialReview, labels: ReviewedLabels, confidence: float
) -> MultilabelGrade:
    """The grade with what the review leads to expect; as it was where the review finds problems only."""
    try:
        reviewed = reviewed_accuracy(review, confidence=confidence)
    except UndefinedError:
        return bounds
    needed = _draws_needed(review, labels, confidence)
    return replace(
        bounds,
        reviewed=_within(reviewed, bounds, labels.review),
        judgements_needed=needed,
        anytime=_anytime(review, confidence),
    )


def _anytime(review: PartialReview, confidence: float) -> Estimate | None:
    try:
        return anytime_accuracy(review, confidence=confidence)
    except UndefinedError:
        return None


def _review(
    predictions: Predictions, judged: Judged, labels: ReviewedLabels, inside: BoolArray, originals: IntArray
) -> PartialReview | None:
    if labels.review is None:
        return None
    rule = labels.scoring.rule
    weights = _weights(originals, inside, labels.scored, rule)
    return review_of(predictions, judged, labels.review, rule=rule, inside=inside, weights=weights)


def _within(reviewed: Estimate, bounds: MultilabelGrade, review: ReviewFrame | None) -> Estimate:
    """The estimate kept between what novel predictions counted wrong and counted right allow.

    Not so once an image was found problematic: that more of them may leave is in the estimate, not in the bounds.
    """
    lower, upper = bounds.lower, bounds.upper
    if lower is None or upper is None or (review is not None and review.problematic.size):
        return reviewed
    value = min(max(reviewed.value, lower.value), upper.value)
    return replace(reviewed, value=value, low=max(reviewed.low, lower.low), high=min(reviewed.high, upper.high))


def _draws_needed(review: PartialReview, labels: ReviewedLabels, confidence: float) -> int | None:
    """How many more judgements of the sample, which all models share, bring this model to the wanted half-width."""
    if labels.half_width is None or labels.review is None:
        return None
    needed = judgements_needed(review, labels.half_width, confidence=confidence)
    if not needed:
        return needed
    return math.ceil(needed * int((~labels.review.judged).sum()) / review.left)


def accuracy_by_rule(
    right: BoolArray, inside: BoolArray, originals: IntArray, *, rule: MultilabelRule, confidence: float
) -> Estimate:
    """The accuracy over the images ``inside`` (n,), averaged as the rule says by their original labels (n,)."""
    n = int(inside.sum())
    classes = originals[inside]
    if rule is MultilabelRule.CLASSES and np.bincount(classes).max(initial=0) > 1:
        return stratified_proportion(right[inside], classes, confidence=confidence)[0]
    # with one image a class the mean over classes is the mean over images
    return proportion(int((right & inside).sum()), n, confidence=confidence)


def _weights(originals: IntArray, inside: BoolArray, scored: BoolArray, rule: MultilabelRule) -> FloatArray:
    """Each image's share of the accuracy under the rule.

    Classes weigh the same by those of their images that are still ``scored``; a problematic one has the share of these.
    """
    if rule is MultilabelRule.IMAGES:
        return np.full(int(inside.sum()), 1 / inside.sum())
    _, classes = np.unique(originals[inside], return_inverse=True)
    sizes = np.bincount(classes, weights=scored[inside])[classes]
    weights = np.divide(1, sizes, out=np.zeros(len(classes)), where=sizes > 0)
    return weights / weights.sum()
