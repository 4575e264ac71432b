"""Agreement of the triage with reviewers on images listed in a review of mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from regrade.core import Estimate, MistakeAnnotations, MistakeCategory, Predictions
from regrade.core.arrays import BoolArray, IntArray
from regrade.core.record import json_key
from regrade.stats import proportions
from regrade.studies.mistakes.triage import NO_ERROR, Triage, TriageKind, by_kind, kind_counts, shares_of

T = TypeVar("T")


def _by_category(values: Sequence[T]) -> dict[MistakeCategory, T]:
    return dict(zip(MistakeCategory, values, strict=True))


def _by_category_and_kind(counts: Sequence[Sequence[int]]) -> dict[MistakeCategory, dict[TriageKind, int]]:
    return _by_category([by_kind(row) for row in counts])


@dataclass(frozen=True)
class TriageAgreement:
    """A model's errors on images listed in a review, by reviewers' category and by triage kind.

    The ``source`` is the reviewed model itself, or another one that errs on the same images; ``same`` of its
    predictions equal those that were reviewed. ``counts`` are reviewers' categories by triage kinds; ``people`` and
    ``triage`` are shares of the ``images``.
    """

    source: str
    review: str
    images: int
    same: int
    counts: tuple[tuple[int, ...], ...] = field(metadata=json_key("counts", _by_category_and_kind))
    people: tuple[Estimate, ...] = field(metadata=json_key("people", _by_category))
    triage: tuple[Estimate, ...] = field(metadata=json_key("triage", by_kind))


ALIKE: tuple[tuple[MistakeCategory | None, TriageKind | None], ...] = (
    (MistakeCategory.FINE_GRAINED, TriageKind.FINE_GRAINED),
    (MistakeCategory.OUT_OF_VOCABULARY, None),
    (MistakeCategory.SPURIOUS, TriageKind.CO_OCCURRENCE),
    (MistakeCategory.NON_PROTOTYPICAL, TriageKind.NON_PROTOTYPICAL),
    (None, TriageKind.COLLAPSED),
    (None, TriageKind.MULTILABEL),
    (None, TriageKind.FAILURE),
)
"""Reviewers' categories with the corresponding triage kinds; None where there is no counterpart."""


def review_agreement(review: MistakeAnnotations, triage: Triage, *, confidence: float) -> TriageAgreement | None:
    """Return the agreement on the reviewed predictions whose images are scored; None if there are none."""
    return _agreement(_Source(review.model, review.classes, triage.scored), review, triage, confidence)


def model_agreement(
    predictions: Predictions, review: MistakeAnnotations, triage: Triage, *, confidence: float
) -> TriageAgreement | None:
    """Return the agreement for another model, on the scored images of a review that it errs on; None without any."""
    source = _Source(predictions.model, predictions.top1[review.examples], triage.scored & predictions.counted)
    return _agreement(source, review, triage, confidence)


@dataclass(frozen=True, eq=False)
class _Source:
    """A model's predictions (r,) on the images of a review, and the images (n,) that count."""

    name: str
    predictions: IntArray
    scored: BoolArray


def _agreement(
    source: _Source, review: MistakeAnnotations, triage: Triage, confidence: float
) -> TriageAgreement | None:
    kinds = triage.kinds(review.examples, source.predictions)
    rows = np.flatnonzero(source.scored[review.examples] & (kinds != NO_ERROR))
    shares = shares_of(kind_counts(kinds[rows]), confidence)
    if shares is None:
        return None
    categories = list(MistakeCategory)
    category_index = np.array([categories.index(category) for category in review.categories])
    counts = np.zeros((len(MistakeCategory), len(TriageKind)), dtype=np.int64)
    np.add.at(counts, (category_index[rows], kinds[rows]), 1)
    return TriageAgreement(
        source.name,
        review.model,
        len(rows),
        int((source.predictions[rows] == review.classes[rows]).sum()),
        tuple(map(tuple, counts.tolist())),
        tuple(proportions(counts.sum(axis=1), len(rows), confidence=confidence)),
        shares,
    )
