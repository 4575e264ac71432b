"""Automatic triage: suggests a kind for every error of a model, before people review it.

After Peychev et al. 2023, with different superclasses. The first kind that fits is used. Errors on objects without a
class (out-of-vocabulary) are recognized by embeddings of images and texts; without these they count as other kinds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from regrade.classes import Superclasses
from regrade.core import (
    NO_ANSWER,
    Estimate,
    LabelSet,
    LabelState,
    MistakeAnnotations,
    MistakeCategory,
    Predictions,
    TestSet,
)
from regrade.core.arrays import BoolArray, IntArray
from regrade.core.record import Record, json_key
from regrade.studies.image_clusters import kind_shares, mean_credit, numbers_in
from regrade.studies.mistakes.mistake_labels import MistakeLabels
from regrade.studies.mistakes.out_of_vocabulary import OutOfVocabulary

T = TypeVar("T")

_MIN_IMAGES = 2  # images that must show two classes together
_RIGHT = (LabelState.CORRECT, LabelState.UNCLEAR)


class TriageKind(Enum):
    """Kinds of errors, mildest first."""

    COLLAPSED = "collapsed class"
    """The predicted class is indistinguishable from the label."""
    MULTILABEL = "another right label"
    """The labels accept the predicted class."""
    FINE_GRAINED = "same superclass"
    """The predicted class shares a superclass with a right class."""
    CO_OCCURRENCE = "co-occurring class"
    """The predicted class often occurs in images of a right class of another superclass."""
    NON_PROTOTYPICAL = "non-prototypical"
    """Reviewers listed the image as non-prototypical."""
    FAILURE = "failure"
    """None of these."""
    OUT_OF_VOCABULARY = "object without a class"
    """The image is most similar to a concept that is related to the prediction and has no class."""


ORDER = (
    TriageKind.COLLAPSED,
    TriageKind.MULTILABEL,
    TriageKind.FINE_GRAINED,
    TriageKind.OUT_OF_VOCABULARY,
    TriageKind.CO_OCCURRENCE,
    TriageKind.NON_PROTOTYPICAL,
    TriageKind.FAILURE,
)
"""The order in which kinds are tried; the first that fits counts."""


NO_ERROR = -1
"""The kind of a prediction that is the original label, and right."""


def by_kind(values: Sequence[T]) -> dict[TriageKind, T]:
    """Values in the order of `TriageKind`, by kind; kinds that were not tried are left out."""
    return dict(zip(tuple(TriageKind)[: len(values)], values, strict=True))


def in_order(values: Sequence[T]) -> list[tuple[TriageKind, T]]:
    """Values in the order of `TriageKind`, with their kind, in the order in which kinds are tried."""
    named = by_kind(values)
    return [(kind, named[kind]) for kind in ORDER if kind in named]


@dataclass(frozen=True)
class TriageRow(Record):
    """One model's errors by kind: counts in the order of `TriageKind`, and their shares (None without errors).

    Errors are predictions other than the original label; the labels accept ``accepted`` of them. The ``rejected``
    predictions equal the original label, but the labels reject it. ``accepted_share`` is that of the accepted errors.
    """

    model: str
    images: int
    counts: tuple[int, ...]
    shares: tuple[Estimate, ...] | None
    accepted: int = 0
    rejected: int = 0
    accepted_share: Estimate | None = None

    def json_fields(self) -> dict[str, Any]:
        """The counts and shares by kind."""
        counts = {"model": self.model, "images": self.images, "errors": self.errors, "counts": by_kind(self.counts)}
        return {
            **counts, "shares": None if self.shares is None else by_kind(self.shares), "accepted": self.accepted,
            "label_rejected": self.rejected,
        }  # fmt: skip

    @property
    def errors(self) -> int:
        """Number of errors under the original labels: predictions other than the original label."""
        return sum(self.counts)


@dataclass(frozen=True, eq=False)
class Triage:
    """Inputs of the triage; tables (c, c) are by predicted and right class, ``unusual`` (n,) is by image.

    Objects without a class are recognized only if ``without_class`` is given: it needs embeddings.
    """

    ground: MistakeLabels
    collapsed: BoolArray
    same_kind: BoolArray
    together: BoolArray
    unusual: BoolArray
    without_class: OutOfVocabulary | None = None

    @property
    def used(self) -> tuple[TriageKind, ...]:
        """The kinds that are tried, in the order of `TriageKind`."""
        return tuple(TriageKind)[: len(TriageKind) - (self.without_class is None)]

    def counts(self, kinds: IntArray) -> tuple[int, ...]:
        """Return the number of errors of each kind that is tried."""
        return tuple(np.bincount(kinds[kinds != NO_ERROR], minlength=len(self.used)).tolist())

    @property
    def scored(self) -> BoolArray:
        """Shape (n,): the images whose errors are triaged: scored, and with an original label."""
        return self.ground.after.scored & self.ground.test_set.labeled

    def row(self, predictions: Predictions, *, confidence: float) -> TriageRow:
        """Count one model's errors under the original labels by kind."""
        examples = np.flatnonzero(self.scored & predictions.counted)
        kinds = self.kinds(examples, predictions.top1[examples])
        is_label = predictions.top1[examples] == self.ground.test_set.labels[examples]
        is_right = np.isin(self._states(examples, predictions.top1[examples]), _RIGHT)
        counts = self.counts(kinds[~is_label])
        accepted, rejected = int((is_right & ~is_label).sum()), int((~is_right & is_label).sum())
        numbers = numbers_in(self.ground.clusters, examples[~is_label])
        shares = accepted_share = None
        if sum(counts):
            shares = kind_shares(kinds[~is_label], len(counts), numbers, confidence=confidence)
            accepted_share = mean_credit(is_right[~is_label], numbers, confidence=confidence)
        return TriageRow(predictions.model, len(examples), counts, shares, accepted, rejected, accepted_share)

    def kinds(self, examples: IntArray, predictions: IntArray) -> IntArray:
        """Shape (r,): for predictions on distinct images, the index of the kind in `TriageKind`, or `NO_ERROR`.

        A prediction of the original label has a kind if the labels reject it.
        """
        accepted = np.isin(self._states(examples, predictions), _RIGHT)
        errors = (predictions != self.ground.test_set.labels[examples]) | ~accepted
        kinds = np.full(len(examples), NO_ERROR)
        kinds[errors] = self._kinds_of_errors(examples[errors], predictions[errors], accepted[errors])
        return kinds

    def _kinds_of_errors(self, examples: IntArray, predictions: IntArray, accepted: BoolArray) -> IntArray:
        labels, right = self.ground.test_set.labels[examples], self.ground.right
        collapsed = (predictions >= 0) & self._label_accepted[examples] & self.collapsed[predictions, labels]
        hits = {
            TriageKind.COLLAPSED: collapsed,
            TriageKind.MULTILABEL: accepted,
            TriageKind.FINE_GRAINED: right.any_of(self.same_kind, examples, predictions),
            TriageKind.CO_OCCURRENCE: right.any_of(self.together, examples, predictions),
            TriageKind.NON_PROTOTYPICAL: self.unusual[examples],
            TriageKind.FAILURE: np.ones(len(examples), dtype=bool),
        }
        if self.without_class is not None:
            open_rows = np.flatnonzero(~(collapsed | accepted | hits[TriageKind.FINE_GRAINED]))
            outside = np.zeros(len(examples), dtype=bool)
            outside[open_rows] = self.without_class.errors(
                examples[open_rows], predictions[open_rows], labels[open_rows]
            )
            hits[TriageKind.OUT_OF_VOCABULARY] = outside
        tried, places = [kind for kind in ORDER if kind in hits], list(TriageKind)
        return np.select([hits[kind] for kind in tried], [places.index(kind) for kind in tried])

    @cached_property
    def _label_accepted(self) -> BoolArray:
        """Shape (n,): whether the labels accept the original label."""
        return np.isin(self.ground.states_after(self.ground.test_set.labels), _RIGHT)

    def _states(self, examples: IntArray, predictions: IntArray) -> IntArray:
        by_image = np.full(len(self.ground.test_set), NO_ANSWER, dtype=np.int64)
        by_image[examples] = predictions
        return self.ground.states_after(by_image)[examples]


def make_triage(
    ground: MistakeLabels,
    *,
    superclasses: Superclasses,
    pairs_from: LabelSet | None,
    reviews: Sequence[MistakeAnnotations],
    without_class: OutOfVocabulary | None = None,
) -> Triage:
    """Build the triage from superclasses, pairs of classes that occur together, and reviews of images."""
    space = ground.test_set.class_space
    collapsed = np.zeros((len(space), len(space)), dtype=bool)
    for label, also in space.collapsed.items():
        collapsed[list(also), label] = True
    same_kind = superclasses.shared
    together = np.zeros_like(collapsed)
    if pairs_from is not None:
        together = seen_together(pairs_from, ground.test_set, _outside(pairs_from, ground)) & ~same_kind
    unusual = np.zeros(len(ground.test_set), dtype=bool)
    for review in reviews:
        unusual[review.examples[review.of_category(MistakeCategory.NON_PROTOTYPICAL)]] = True
    return Triage(ground, collapsed, same_kind, together, unusual, without_class)


def seen_together(labels: LabelSet, test_set: TestSet, images: BoolArray) -> BoolArray:
    """Shape (c, c): classes that occur together in at least two of the images (n,), including original labels."""
    chosen = (labels.states == LabelState.CORRECT) & images[labels.examples]
    size = len(test_set.class_space)
    own = np.flatnonzero(images & labels.covered & test_set.labeled)
    keys = np.unique(
        np.concatenate([
            labels.examples[chosen].astype(np.int64) * size + labels.classes[chosen],
            own * size + test_set.labels[own],
        ])
    )  # fmt: skip
    rows, classes = np.divmod(keys, size)
    counts = np.zeros((size, size), dtype=np.int64)
    ends = np.searchsorted(rows, np.arange(len(test_set)), side="right")
    starts = np.searchsorted(rows, np.arange(len(test_set)))
    for width in range(1, int((ends - starts).max(initial=0))):  # pairs of classes of one image, by their offset
        near = np.flatnonzero(rows[:-width] == rows[width:])
        np.add.at(counts, (classes[near], classes[near + width]), 1)
    counts += counts.T
    return np.asarray(counts >= _MIN_IMAGES)


def _outside(pairs_from: LabelSet, ground: MistakeLabels) -> BoolArray:
    """The images used to find co-occurring classes: those the labels do not cover, so that no image explains itself.

    If ``pairs_from`` are the labels that grade the errors, all images whose original label is right are used: there, an
    error is neither among its image's labels nor added to them.
    """
    labels = ground.after.scoring.labels
    if pairs_from.full_name == labels.full_name:
        return np.isin(labels.states_of(ground.test_set.labels), _RIGHT)
    return np.asarray(~labels.covered)


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
    (MistakeCategory.OUT_OF_VOCABULARY, TriageKind.OUT_OF_VOCABULARY),
    (MistakeCategory.SPURIOUS, TriageKind.CO_OCCURRENCE),
    (MistakeCategory.NON_PROTOTYPICAL, TriageKind.NON_PROTOTYPICAL),
    (None, TriageKind.COLLAPSED),
    (None, TriageKind.MULTILABEL),
    (None, TriageKind.FAILURE),
)
"""Reviewers' categories with the corresponding triage kinds; None where there is no counterpart.

Objects without a class are a kind only if embeddings are given.
"""


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
    if not len(rows):
        return None
    categories = list(MistakeCategory)
    category_index = np.array([categories.index(category) for category in review.categories])
    numbers = numbers_in(triage.ground.clusters, review.examples[rows])
    counts = np.zeros((len(MistakeCategory), len(triage.used)), dtype=np.int64)
    np.add.at(counts, (category_index[rows], kinds[rows]), 1)
    return TriageAgreement(
        source.name,
        review.model,
        len(rows),
        int((source.predictions[rows] == review.classes[rows]).sum()),
        tuple(map(tuple, counts.tolist())),
        kind_shares(category_index[rows], len(categories), numbers, confidence=confidence),
        kind_shares(kinds[rows], len(triage.used), numbers, confidence=confidence),
    )
