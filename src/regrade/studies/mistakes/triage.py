"""Automatic triage: a suggestion, for every error of a model, of what kind it is, before people look.

After Peychev et al. 2023, with superclasses of our own. The first kind that fits is taken. Telling mistakes apart whose
object has no class at all needs embeddings of images and is left out: these end up as fine-grained or as failures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np

from regrade.classes import Superclasses
from regrade.core import NO_ANSWER, LabelSet, LabelState, MistakeCategory, MistakeReview, Predictions, TestSet
from regrade.core.arrays import BoolArray, IntArray
from regrade.core.estimate import Estimate
from regrade.stats import proportions
from regrade.studies.mistakes.mistake_labels import MistakeLabels

_LEAST = 2  # images that must show two classes together
_RIGHT = (LabelState.CORRECT, LabelState.UNCLEAR)


class TriageKind(Enum):
    """What an error may be, the mildest first."""

    COLLAPSED = "collapsed class"
    """People cannot tell the class from the label."""
    MULTILABEL = "another right label"
    """The labels accept it."""
    FINE_GRAINED = "same superclass"
    """It is of the same kind of things as a right class."""
    CO_OCCURRENCE = "co-occurring class"
    """It is often in images of a right class, and of another kind."""
    NON_PROTOTYPICAL = "non-prototypical"
    """People listed the image as unusual."""
    FAILURE = "failure"
    """None of these."""


NO_ERROR = -1
"""The kind of an answer that is the image's own label, and right."""


@dataclass(frozen=True)
class TriageRow:
    """One model's errors by kind: counts in the order of `TriageKind`, and their shares, none without errors."""

    model: str
    images: int
    counts: tuple[int, ...]
    shares: tuple[Estimate, ...] | None

    @property
    def errors(self) -> int:
        """All errors: answers that are not the image's own label, or are and the labels reject it."""
        return sum(self.counts)


@dataclass(frozen=True, eq=False)
class Triage:
    """What the suggestions rest on; tables (c, c) are by answer and right class, ``unusual`` (n,) by image."""

    ground: MistakeLabels
    collapsed: BoolArray
    same_kind: BoolArray
    together: BoolArray
    unusual: BoolArray

    @property
    def scored(self) -> BoolArray:
        """Shape (n,): the images whose errors are triaged: scored, and with a label of their own."""
        return self.ground.after.scored & self.ground.test_set.labeled

    def row(self, predictions: Predictions, *, confidence: float) -> TriageRow:
        """Count one model's errors by kind."""
        examples = np.flatnonzero(self.scored & predictions.counted)
        kinds = self.kinds(examples, predictions.top1[examples])
        counts = kind_counts(kinds)
        return TriageRow(predictions.model, len(examples), counts, shares_of(counts, confidence))

    def kinds(self, examples: IntArray, answers: IntArray) -> IntArray:
        """Shape (r,): for answers to distinct images the index of the kind among `TriageKind`, or `NO_ERROR`."""
        accepts = np.isin(self._states(examples, answers), _RIGHT)
        errors = (answers != self.ground.test_set.labels[examples]) | ~accepts
        kinds = np.full(len(examples), NO_ERROR)
        kinds[errors] = self._kinds_of_errors(examples[errors], answers[errors], accepts[errors])
        return kinds

    def _kinds_of_errors(self, examples: IntArray, answers: IntArray, accepts: BoolArray) -> IntArray:
        own, right = self.ground.test_set.labels[examples], self.ground.right
        hits = {
            TriageKind.COLLAPSED: (answers >= 0) & self._own_accepted[examples] & self.collapsed[answers, own],
            TriageKind.MULTILABEL: accepts,
            TriageKind.FINE_GRAINED: right.any_of(self.same_kind, examples, answers),
            TriageKind.CO_OCCURRENCE: right.any_of(self.together, examples, answers),
            TriageKind.NON_PROTOTYPICAL: self.unusual[examples],
            TriageKind.FAILURE: np.ones(len(examples), dtype=bool),
        }
        return np.select([hits[kind] for kind in TriageKind], list(range(len(TriageKind))))

    @cached_property
    def _own_accepted(self) -> BoolArray:
        """Shape (n,): whether the labels accept the image's own label."""
        return np.isin(self.ground.states_after(self.ground.test_set.labels), _RIGHT)

    def _states(self, examples: IntArray, answers: IntArray) -> IntArray:
        everywhere = np.full(len(self.ground.test_set), NO_ANSWER, dtype=np.int64)
        everywhere[examples] = answers
        return self.ground.states_after(everywhere)[examples]


def triage_against(
    ground: MistakeLabels, *, superclasses: Superclasses, pairs_from: LabelSet | None, reviews: Sequence[MistakeReview]
) -> Triage:
    """Lay down what errors are triaged by: superclasses, pairs of classes seen together, and reviews of images."""
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
    return Triage(ground, collapsed, same_kind, together, unusual)


def seen_together(labels: LabelSet, test_set: TestSet, images: BoolArray) -> BoolArray:
    """Shape (c, c): the classes that at least two of the images (n,) show together, an image's own label included."""
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
    for width in range(1, int((ends - starts).max(initial=0))):  # classes of one image that stand so far apart
        near = np.flatnonzero(rows[:-width] == rows[width:])
        np.add.at(counts, (classes[near], classes[near + width]), 1)
    counts += counts.T
    return np.asarray(counts >= _LEAST)


def kind_counts(kinds: IntArray) -> tuple[int, ...]:
    """How many errors are of each kind."""
    return tuple(np.bincount(kinds[kinds != NO_ERROR], minlength=len(TriageKind)).tolist())


def shares_of(counts: tuple[int, ...], confidence: float) -> tuple[Estimate, ...] | None:
    """Counts as shares of their sum, none where it is 0."""
    return tuple(proportions(list(counts), sum(counts), confidence=confidence)) if sum(counts) else None


def _outside(pairs_from: LabelSet, ground: MistakeLabels) -> BoolArray:
    """The images that may speak: those the labels do not cover, so that no image speaks for itself.

    Under the very labels that errors are held against, all may whose own label is right: there, an error is among
    neither its image's labels nor added to them.
    """
    labels = ground.after.scoring.labels
    if pairs_from.full_name == labels.full_name:
        return np.isin(labels.states_of(ground.test_set.labels), _RIGHT)
    return np.asarray(~labels.covered)
