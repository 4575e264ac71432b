"""Models on the images of a study: how many they have right, and how severe their mistakes are.

What nobody has judged yet bounds both: novel predictions may be right, and mistakes without a severity may be major.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regrade.core import NO_ANSWER, Estimate, MistakeAnnotations, MistakeCategory, Predictions, Severity
from regrade.core.arrays import BoolArray, IntArray
from regrade.core.record import Record
from regrade.metrics import Judged
from regrade.studies.image_clusters import mean_credit, numbers_in
from regrade.studies.mistakes.pair_annotations import (
    CategorizedPairs,
    Pair,
    PairAnnotation,
    annotations_by_pair,
    categorized_pairs,
)


@dataclass(frozen=True)
class ModelSeverity(Record):
    """One model on the scored images; shares are None if there are none.

    ``right`` counts novel predictions as wrong, ``right_at_most`` as right. Of the mistakes that are judged, people
    called ``major``, ``borderline`` and ``minor`` so many, and gave no severity to the ``open`` ones, or disagree.
    ``unanswered`` images have no prediction. ``major_at_least`` is the share of images with a major mistake,
    ``major_at_most`` that share if all open mistakes and novel predictions are major mistakes. ``top1`` is the accuracy
    on all images of the test set under the original labels. ``chose`` tells whether the model took part in choosing the
    images.
    """

    model: str
    images: int
    right: Estimate | None
    right_at_most: Estimate | None
    major: int
    borderline: int
    minor: int
    open: int
    novel: int
    unanswered: int
    major_at_least: Estimate | None
    major_at_most: Estimate | None
    top1: Estimate | None = None
    chose: bool = False

    def json_fields(self) -> dict[str, Any]:
        """The fields, with the number of right predictions."""
        return {**super().json_fields(), "right_images": self.right_images}

    @property
    def right_images(self) -> int | None:
        """Number of right predictions, novel ones not among them."""
        return None if self.right is None else round(self.right.value * self.right.n)


@dataclass(frozen=True, eq=False)
class SeveritySources:
    """What people said about mistakes: the review of each model, and the pairs that several reviews agree on."""

    own: Mapping[str, Mapping[Pair, PairAnnotation]]
    pairs: CategorizedPairs

    @classmethod
    def of(cls, reviews: Sequence[MistakeAnnotations]) -> SeveritySources:
        """From the reviews of one test set."""
        return cls({review.model: annotations_by_pair(review) for review in reviews}, categorized_pairs(reviews))

    def annotation(self, model: str, pair: Pair) -> PairAnnotation | None:
        """What people said about a model's prediction: its own review first, then the others if they agree."""
        return self.own.get(model, {}).get(pair) or self.pairs.settled(pair)


CategoryCounts = Mapping[MistakeCategory | None, Mapping[Severity | None, int]]
"""Mistakes by category and severity; None: nobody said, or reviews disagree."""


def categorized_mistakes(predictions: Predictions, images: BoolArray, sources: SeveritySources) -> CategoryCounts:
    """Count a model's mistakes on a mask (n,) of images by category and severity."""
    pairs = [(example, int(predictions.top1[example])) for example in np.flatnonzero(images).tolist()]
    annotations = [sources.annotation(predictions.model, pair) for pair in pairs]
    counts: dict[MistakeCategory | None, Counter[Severity | None]] = {}
    for annotation in annotations:
        category, severity = (annotation.category, annotation.severity) if annotation else (None, None)
        counts.setdefault(category, Counter())[severity] += 1
    return counts


def severe_images(predictions: Predictions, images: BoolArray, sources: SeveritySources) -> tuple[BoolArray, BoolArray]:
    """Masks (n,) of a model's mistakes on the ``images`` (n,) that are major, and of those without a severity."""
    major, unsaid = np.zeros_like(images), np.zeros_like(images)
    for example in np.flatnonzero(images).tolist():
        annotation = sources.annotation(predictions.model, (example, int(predictions.top1[example])))
        severity = annotation.severity if annotation else None
        major[example], unsaid[example] = severity is Severity.MAJOR, severity is None
    return major, unsaid


def severity_of(
    predictions: Predictions,
    judged: Judged,
    mistakes: CategoryCounts,
    severe: tuple[BoolArray, BoolArray],
    clusters: IntArray | None = None,
    *,
    top1: Estimate | None,
    confidence: float,
) -> ModelSeverity:
    """One model on the scored images; ``mistakes`` are its judged mistakes with an answer, ``severe`` their images.

    Images of one of the ``clusters`` (n,) are dependent.
    """
    images = int(judged.scored.sum())
    right, novel = judged.right & judged.scored, judged.novel & judged.scored
    unanswered = int((judged.scored & (predictions.top1 == NO_ANSWER)).sum())
    by_severity = sum((Counter(counts) for counts in mistakes.values()), Counter())
    major, unsaid = severe
    numbers = numbers_in(clusters, judged.scored)

    def share(chosen: BoolArray) -> Estimate | None:
        return mean_credit(chosen[judged.scored], numbers, confidence=confidence) if images else None

    return ModelSeverity(
        predictions.model,
        images,
        share(right),
        share(right | novel),
        by_severity[Severity.MAJOR],
        by_severity[Severity.BORDERLINE],
        by_severity[Severity.MINOR],
        by_severity[None],
        int(novel.sum()),
        unanswered,
        share(major),
        share(major | unsaid | novel),
        top1,
    )
