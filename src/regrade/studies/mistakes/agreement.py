"""The triage beside people: on images that a review lists, what it suggests and what people said."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regrade.core import Estimate, MistakeCategory, MistakeReview, Predictions
from regrade.core.arrays import BoolArray, IntArray
from regrade.stats import proportions
from regrade.studies.mistakes.triage import NO_ERROR, Triage, TriageKind, kind_counts, shares_of


@dataclass(frozen=True)
class TriageAgreement:
    """One source's errors on images that a review lists, as people and as the triage have them.

    The source is the reviewed model itself, or another one that errs on the same images; then ``same`` of its answers
    are those that people saw. ``counts`` are people's categories by the triage's kinds; shares are of the ``images``.
    """

    source: str
    review: str
    images: int
    same: int
    counts: tuple[tuple[int, ...], ...]
    people: tuple[Estimate, ...]
    triage: tuple[Estimate, ...]


ALIKE: tuple[tuple[MistakeCategory | None, TriageKind | None], ...] = (
    (MistakeCategory.FINE_GRAINED, TriageKind.FINE_GRAINED),
    (MistakeCategory.OUT_OF_VOCABULARY, None),
    (MistakeCategory.SPURIOUS, TriageKind.CO_OCCURRENCE),
    (MistakeCategory.NON_PROTOTYPICAL, TriageKind.NON_PROTOTYPICAL),
    (None, TriageKind.COLLAPSED),
    (None, TriageKind.MULTILABEL),
    (None, TriageKind.FAILURE),
)
"""People's categories beside the kinds of the triage that stand for them, none where nothing does."""


def review_agreement(review: MistakeReview, triage: Triage, *, confidence: float) -> TriageAgreement | None:
    """The reviewed answers themselves, as far as the labels score their images; none where there are none."""
    return _agreement(_Source(review.model, review.classes, triage.scored), review, triage, confidence)


def model_agreement(
    predictions: Predictions, review: MistakeReview, triage: Triage, *, confidence: float
) -> TriageAgreement | None:
    """Another model on those images of a review that are scored and that it errs on, too; none where there are none."""
    answers = predictions.top1[review.examples]
    source = _Source(predictions.model, answers, triage.scored & predictions.counted)
    return _agreement(source, review, triage, confidence)


@dataclass(frozen=True, eq=False)
class _Source:
    """Whose answers (r,) to the images of a review are looked at, and which images (n,) count."""

    name: str
    answers: IntArray
    scored: BoolArray


def _agreement(source: _Source, review: MistakeReview, triage: Triage, confidence: float) -> TriageAgreement | None:
    kinds = triage.kinds(review.examples, source.answers)
    rows = np.flatnonzero(source.scored[review.examples] & (kinds != NO_ERROR))
    shares = shares_of(kind_counts(kinds[rows]), confidence)
    if shares is None:
        return None
    categories = list(MistakeCategory)
    said = np.array([categories.index(category) for category in review.categories])
    counts = np.zeros((len(MistakeCategory), len(TriageKind)), dtype=np.int64)
    np.add.at(counts, (said[rows], kinds[rows]), 1)
    return TriageAgreement(
        source.name,
        review.model,
        len(rows),
        int((source.answers[rows] == review.classes[rows]).sum()),
        tuple(map(tuple, counts.tolist())),
        tuple(proportions(counts.sum(axis=1), len(rows), confidence=confidence)),
        shares,
    )
