"""Categories and severities by pair of image and predicted class, whichever model's review they come from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from regrade.core import MistakeAnnotations, MistakeCategory, ReusedFrom, Severity

Pair = tuple[int, int]
"""An image and a predicted class."""


@dataclass(frozen=True)
class PairAnnotation:
    """What people said about a prediction on an image, and in which review."""

    category: MistakeCategory
    severity: Severity
    origin: ReusedFrom


@dataclass(frozen=True)
class CategorizedPairs:
    """The annotations of each pair, from all reviews that have it."""

    annotations: Mapping[Pair, tuple[PairAnnotation, ...]]

    def settled(self, pair: Pair) -> PairAnnotation | None:
        """The annotation of a pair, from the first review; None without any, or if reviews disagree.

        Reviews agree if category and severity are the same: borderline is a severity of its own here.
        """
        annotations = self.annotations.get(pair, ())
        if not annotations or self.is_disputed(pair):
            return None
        return annotations[0]

    def is_disputed(self, pair: Pair) -> bool:
        """Whether reviews disagree on the category or the severity of a pair."""
        return len({(row.category, row.severity) for row in self.annotations.get(pair, ())}) > 1


def annotations_by_pair(review: MistakeAnnotations) -> dict[Pair, PairAnnotation]:
    """The annotations of a review by pair; reused rows keep their origin."""
    origin = ReusedFrom(review.model, ", ".join(review.queues))
    columns = (review.examples.tolist(), review.classes.tolist(), review.categories, review.severities, review.origins)
    return {
        (example, predicted): PairAnnotation(category, severity, reused or origin)
        for example, predicted, category, severity, reused in zip(*columns, strict=True)
    }


def categorized_pairs(reviews: Iterable[MistakeAnnotations]) -> CategorizedPairs:
    """The pairs that people categorized in reviews; rows that a review reused from another one are left out."""
    return merged_pairs(annotations_by_pair(review.own) for review in reviews)


def merged_pairs(sources: Iterable[Mapping[Pair, PairAnnotation]]) -> CategorizedPairs:
    """The annotations of several sources, in their order."""
    merged: dict[Pair, tuple[PairAnnotation, ...]] = defaultdict(tuple)
    for source in sources:
        for pair, annotation in source.items():
            merged[pair] += (annotation,)
    return CategorizedPairs(dict(merged))
