"""Mistakes before and after a review, and between two models: overturned, fixed, new and common ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regrade.core import Estimate, LabelState, Predictions
from regrade.core.arrays import BoolArray, IntArray
from regrade.core.record import NOT_IN_JSON, Record, json_key
from regrade.metrics import Judged, MultilabelRule
from regrade.studies.image_clusters import mean_credit, numbers_in
from regrade.studies.mistakes.mistake_labels import MistakeLabels, MistakeList, ReviewedPredictions
from regrade.studies.multilabel_grade import ReviewedLabels, multilabel_accuracy


@dataclass(frozen=True)
class MultilabelAccuracies:
    """Multi-label accuracy over images and over classes (None if an image has no original label).

    Novel predictions count as wrong.
    """

    over_images: Estimate
    over_classes: Estimate | None


@dataclass(frozen=True)
class Flow(Record):
    """One model's mistakes before and after the review.

    Of the ``mistakes``, ``novel`` were unjudged before the review, and ``judged`` of these are judged now.
    ``to_correct`` and ``to_unclear`` mistakes are now correct or unclear, and the images of ``to_problematic`` no
    longer count; ``added`` are new mistakes. ``remaining`` mistakes are left, ``open`` of them still novel.
    ``overturned_share`` is the share of mistakes that the review overturned, None without any.
    """

    model: str
    images: int
    mistakes: int
    novel: int
    judged: int
    to_correct: int
    to_unclear: int
    to_problematic: int
    added: int
    remaining: int
    open: int
    before: MultilabelAccuracies
    after: MultilabelAccuracies
    overturned_share: Estimate | None = field(default=None, metadata=NOT_IN_JSON)

    def json_fields(self) -> dict[str, Any]:
        """The fields, with the overturned mistakes."""
        return {**super().json_fields(), "overturned": self.overturned}

    @property
    def overturned(self) -> int:
        """Number of mistakes that the review overturned."""
        return self.to_correct + self.to_unclear + self.to_problematic


def flow_of(predictions: Predictions, ground: MistakeLabels, judged: ReviewedPredictions, *, confidence: float) -> Flow:
    """Return one model's mistakes before and after the review."""
    first, now = judged.before, judged.after
    mistakes = first.scored & ~first.right
    remaining = now.scored & ~now.right
    turned = mistakes & now.right
    unclear = turned & (ground.states_after(predictions.top1) == LabelState.UNCLEAR) if turned.any() else turned
    before = _accuracies(predictions, ground, ground.before, first, confidence)
    after = before if ground.unchanged else _accuracies(predictions, ground, ground.after, now, confidence)
    return Flow(
        model=predictions.model,
        images=int(first.scored.sum()),
        mistakes=int(mistakes.sum()),
        novel=int(first.novel.sum()),
        judged=int((first.novel & ~now.novel).sum()),
        to_correct=int((turned & ~unclear).sum()),
        to_unclear=int(unclear.sum()),
        to_problematic=int((mistakes & ~now.scored).sum()),
        added=int((remaining & ~mistakes).sum()),
        remaining=int(remaining.sum()),
        open=int(now.novel.sum()),
        before=before,
        after=after,
        overturned_share=share_of(~remaining, mistakes, ground.clusters, confidence),
    )


def _accuracies(
    predictions: Predictions, ground: MistakeLabels, labels: ReviewedLabels, lenient: Judged, confidence: float
) -> MultilabelAccuracies:
    """Both accuracies of one model; ``lenient`` has unclear predictions as right."""
    strict = ground.judged(predictions, labels, MultilabelRule.IMAGES)
    own = ground.test_set.labels
    numbers = ground.clusters
    images = multilabel_accuracy(
        strict.right, strict.scored, own, numbers, rule=MultilabelRule.IMAGES, confidence=confidence
    )
    if not ground.test_set.labeled[labels.scored].all():
        return MultilabelAccuracies(images, None)
    rule = MultilabelRule.CLASSES
    return MultilabelAccuracies(
        images, multilabel_accuracy(lenient.right, lenient.scored, own, numbers, rule=rule, confidence=confidence)
    )


@dataclass(frozen=True)
class Change(Record):
    """The mistakes of ``model`` compared with those of the model ``against``, image by image.

    ``fixed`` are mistakes of ``against`` only, ``new`` of ``model`` only; on common ones the two predictions are the
    ``same`` or ``different``. ``fixed_share`` is relative to the mistakes of ``against``, None without any.
    """

    model: str
    against: str
    fixed: int
    new: int
    same: int
    different: int = field(metadata=json_key("other"))
    fixed_share: Estimate | None

    def json_fields(self) -> dict[str, Any]:
        """The fields, with the common mistakes."""
        return {**super().json_fields(), "common": self.common}

    @property
    def common(self) -> int:
        """Number of images that both have wrong."""
        return self.same + self.different


def share_of(chosen: BoolArray, among: BoolArray, clusters: IntArray | None, confidence: float) -> Estimate | None:
    """The share of the images ``among`` (n,) that are ``chosen`` (n,); None without any."""
    return mean_credit(chosen[among], numbers_in(clusters, among), confidence=confidence) if among.any() else None


def change_between(
    mistakes: MistakeList, against: MistakeList, clusters: IntArray | None = None, *, confidence: float
) -> Change:
    """Compare one model's mistakes with those of another model; images of one cluster (n,) are dependent."""
    images, first, second = np.intersect1d(mistakes.examples, against.examples, assume_unique=True, return_indices=True)
    common, same = len(images), int((mistakes.classes[first] == against.classes[second]).sum())
    fixed = len(against) - common
    share = None
    if len(against):
        is_fixed = ~np.isin(against.examples, images)
        share = mean_credit(is_fixed, numbers_in(clusters, against.examples), confidence=confidence)
    return Change(mistakes.source, against.source, fixed, len(mistakes) - common, same, common - same, share)
