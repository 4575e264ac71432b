"""Multi-label accuracy with its bounds, and its difference to top-1 accuracy on the same images.

Novel predictions count as wrong (lower bound), as correct (upper bound), or as estimated from a review.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from regrade.core import Estimate, InputError, NovelSample, Predictions, UndefinedError
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.metrics import Judged, MultilabelRule
from regrade.stats import (
    PartialReview,
    anytime_accuracy,
    balanced_proportion,
    clustered_share,
    exclusive_difference,
    judgments_needed,
    partial_review,
    reviewed_accuracy,
)
from regrade.studies.image_clusters import ImageClusters, mean_credit, numbers_in
from regrade.studies.review import apply_review, model_review
from regrade.studies.scoring import MultilabelScoring, Scoring


@dataclass(frozen=True, eq=False)
class ReviewedLabels:
    """The labels of a grade, the review of predictions novel under them, and the target half-width."""

    scoring: MultilabelScoring
    review: NovelSample | None = None
    half_width: float | None = None

    @property
    def scored(self) -> BoolArray:
        """Shape (n,): the examples that the labels score and no review decision calls problematic."""
        scored = self.scoring.labels.scored.copy()
        if self.review is not None:
            scored[self.review.problematic] = False
        return scored


@dataclass(frozen=True)
class MultilabelGrade:
    """One model on one slice, with novel predictions counted as wrong, as correct, and estimated.

    Undefined values are None. ``top1`` is top-1 accuracy on the images that the labels score, averaged in the same way;
    ``change`` is multi-label accuracy minus ``top1``, as reviewed if there is a review, else with novel predictions
    counted as wrong. ``anytime`` is the accuracy that a complete review of these images would give, with an interval
    that is valid at any stopping point.
    """

    lower: Estimate | None = None
    upper: Estimate | None = None
    reviewed: Estimate | None = None
    novel: int = 0
    judgments_needed: int | None = None
    top1: Estimate | None = None
    change: Estimate | None = None
    anytime: Estimate | None = None


NOT_JUDGED = MultilabelGrade()
"""The grade of a slice without judged images."""


def grade_multilabel(
    predictions: Predictions,
    scoring: Scoring,
    labels: ReviewedLabels,
    masks: Mapping[str, BoolArray],
    clusters: ImageClusters | None = None,
    *,
    confidence: Mapping[str, float],
) -> dict[str, MultilabelGrade]:
    """Grade one model on each slice, with a confidence level per slice.

    Intervals of means over images are over ``clusters``; those over classes and from a review do not account for them.
    """
    judged = labels.scoring.judge(predictions, scoring.test_set)
    rule = labels.scoring.rule
    if rule is MultilabelRule.CLASSES and not scoring.test_set.labeled[judged.scored].all():
        raise InputError("a judged image has no original label: averaging over classes needs one for each image")
    updated = apply_review(predictions, judged, labels.review, rule)
    top1 = scoring.top_k(predictions, 1).right
    grades = {}
    for name, mask in masks.items():
        model = _JudgedModel(predictions, scoring, labels, judged, updated, top1, clusters, confidence[name])
        grades[name] = model.grade(mask & predictions.counted)
    return {name: grade for name, grade in grades.items() if grade is not None}


@dataclass(frozen=True, eq=False)
class _JudgedModel:
    """One model's predictions, judged by the labels alone and updated by the review, and its top-1 correctness."""

    predictions: Predictions
    scoring: Scoring
    labels: ReviewedLabels
    judged: Judged
    updated: Judged
    top1: BoolArray
    clusters: ImageClusters | None
    confidence: float

    def grade(self, mask: BoolArray) -> MultilabelGrade | None:
        """The grade on the images of a mask (n,); None if the labels score none of them."""
        inside = mask & self.updated.scored
        if not inside.any():
            return None
        lower = self._accuracy(self.updated.right, inside)
        novel = int((self.updated.novel & inside).sum())
        upper = self._accuracy(self.updated.right | self.updated.novel, inside) if novel else lower
        bounds = MultilabelGrade(lower, upper, None, novel)
        review = self._review(mask & self.judged.scored)
        grade = bounds if review is None else _estimated(bounds, review, self.labels, self.confidence)
        return self._with_top1(grade, mask & self.scoring.counted)

    def _with_top1(self, grade: MultilabelGrade, mask: BoolArray) -> MultilabelGrade:
        """The grade with top-1 accuracy on the images that both the labels and top-1 score."""
        inside = mask & self.updated.scored
        if not inside.any():
            return grade
        listed = mask & self.judged.scored
        review = self._review(listed) if grade.reviewed else None
        change = self._change(inside) if review is None else self._reviewed_change(review, self.top1[listed])
        return replace(grade, top1=self._accuracy(self.top1, inside), change=change)

    def _change(self, inside: BoolArray) -> Estimate:
        gained = self._accuracy(self.updated.right & ~self.top1, inside)
        lost = self._accuracy(~self.updated.right & self.top1, inside)
        return exclusive_difference(gained, lost, confidence=self.confidence)

    def _reviewed_change(self, review: PartialReview, top1: BoolArray) -> Estimate | None:
        """Multi-label minus top-1 accuracy, estimated from a review; None if the review is too small."""
        gained = _part(review, ~top1, review.outcomes, review.proxy)
        lost = _part(review, top1, 1 - review.outcomes, 1 - review.proxy)
        try:
            shares = [reviewed_accuracy(part, confidence=self.confidence) for part in (gained, lost)]
        except UndefinedError:
            return None
        return exclusive_difference(*shares, confidence=self.confidence)

    def _accuracy(self, right: BoolArray, inside: BoolArray) -> Estimate:
        originals, rule = self.scoring.test_set.labels, self.labels.scoring.rule
        if self.clusters is not None and rule is MultilabelRule.IMAGES:
            return clustered_share(right[inside], self.clusters.numbers[inside], confidence=self.confidence)
        return multilabel_accuracy(right, inside, originals, rule=rule, confidence=self.confidence)

    def _review(self, inside: BoolArray) -> PartialReview | None:
        if self.labels.review is None:
            return None
        rule = self.labels.scoring.rule
        weights = _weights(self.scoring.test_set.labels, inside, self.labels.scored, rule)
        return model_review(
            self.predictions, self.judged, self.labels.review, rule=rule, inside=inside, weights=weights
        )


def _part(review: PartialReview, chosen: BoolArray, outcomes: FloatArray, proxy: FloatArray) -> PartialReview:
    """A review in which only the chosen images (n,) can count."""
    return partial_review(
        np.where(chosen, outcomes, 0.0),
        review.novel & chosen,
        strata=review.strata,
        weights=review.weights,
        proxy=proxy,
        listed=review.listed,
        problematic=review.problematic,
    )


def _estimated(
    bounds: MultilabelGrade, review: PartialReview, labels: ReviewedLabels, confidence: float
) -> MultilabelGrade:
    """The grade with estimates from the review; unchanged if the review found only problematic images."""
    try:
        reviewed = reviewed_accuracy(review, confidence=confidence)
    except UndefinedError:
        return bounds
    needed = _draws_needed(review, labels, confidence)
    return replace(
        bounds,
        reviewed=_within(reviewed, bounds, labels.review),
        judgments_needed=needed,
        anytime=_anytime(review, confidence),
    )


def _anytime(review: PartialReview, confidence: float) -> Estimate | None:
    try:
        return anytime_accuracy(review, confidence=confidence)
    except UndefinedError:
        return None


def _within(reviewed: Estimate, bounds: MultilabelGrade, review: NovelSample | None) -> Estimate:
    """Clip the estimate to the bounds with novel predictions counted as wrong and as correct.

    Not once an image was found problematic: the estimate, but not the bounds, allows for further problematic images.
    """
    lower, upper = bounds.lower, bounds.upper
    if lower is None or upper is None or (review is not None and review.problematic.size):
        return reviewed
    value = min(max(reviewed.value, lower.value), upper.value)
    return replace(reviewed, value=value, low=max(reviewed.low, lower.low), high=min(reviewed.high, upper.high))


def _draws_needed(review: PartialReview, labels: ReviewedLabels, confidence: float) -> int | None:
    """How many more judgments of the shared sample reduce this model's half-width to the target."""
    if labels.half_width is None or labels.review is None:
        return None
    needed = judgments_needed(review, labels.half_width, confidence=confidence)
    if not needed:
        return needed
    return math.ceil(needed * int((~labels.review.judged).sum()) / review.left)


def multilabel_accuracy(
    right: BoolArray,
    scored: BoolArray,
    originals: IntArray,
    clusters: IntArray | None = None,
    *,
    rule: MultilabelRule,
    confidence: float = 0.95,
) -> Estimate:
    """Return the accuracy over the ``scored`` images (n,), averaged over images or original labels (n,) by the rule.

    The mean over classes ignores classes without a scored image. Raises if no image is scored, or if the mean is over
    classes and a scored image has no original label (-1). Images of one of the ``clusters`` (n,) are dependent.
    """
    if not scored.any():
        raise UndefinedError("no image is scored: none has judged labels, or all are problematic")
    classes = originals[scored]
    if rule is MultilabelRule.CLASSES and (classes < 0).any():
        raise InputError("a judged image has no original label: averaging over classes needs one for each image")
    if rule is MultilabelRule.CLASSES:
        return balanced_proportion(right[scored], classes, numbers_in(clusters, scored), confidence=confidence)[0]
    return mean_credit(right[scored], numbers_in(clusters, scored), confidence=confidence)


def _weights(originals: IntArray, inside: BoolArray, scored: BoolArray, rule: MultilabelRule) -> FloatArray:
    """Each image's weight in the accuracy under the rule.

    Classes have equal weight, split among those of their images that are still ``scored``; a problematic image has the
    same weight as these.
    """
    if rule is MultilabelRule.IMAGES:
        return np.full(int(inside.sum()), 1 / inside.sum())
    _, classes = np.unique(originals[inside], return_inverse=True)
    sizes = np.bincount(classes, weights=scored[inside])[classes]
    weights = np.divide(1, sizes, out=np.zeros(len(classes)), where=sizes > 0)
    return weights / weights.sum()
