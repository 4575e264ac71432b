"""Scoring: whether predictions are correct under a test set's labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from regrade.core import (
    NO_ANSWER,
    UNLABELED,
    ClassMap,
    ClassSpace,
    LabelSet,
    MapRule,
    MismatchError,
    Predictions,
    TestSet,
    Ties,
    UndefinedError,
    subset_map,
)
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.metrics import (
    Judged,
    MultilabelRule,
    best_within,
    expected_correct,
    judge,
    mapped_correct,
    ties_across,
    top_k_correct,
    top_k_within,
)

EVERYTHING = "all"
"""The name of the slice that contains every example."""

FEWEST_DRAWN = 20
"""Figures leave out slices and groups with fewer images, whose intervals are up to 46 points wide."""

_ROWS = 4096  # images whose tied classes are in memory at a time


@dataclass(frozen=True)
class TopK:
    """Top-k correctness of one model: ``right`` (n,), and ``undetermined`` (n,) if too few classes are stored.

    In ``right``, ties go to the lower class index. If any are known to cross the k-th place, ``expected`` (n,) is the
    probability of being right under random tie-breaking, and ``tied`` (n,) marks these images. Top-1 is the class that
    a model predicts: its ties are not drawn.
    """

    right: BoolArray
    undetermined: BoolArray
    expected: FloatArray | None = None
    tied: BoolArray | None = None

    @property
    def credit(self) -> BoolArray | FloatArray:
        """Shape (n,): what each image adds to the number of right ones."""
        return self.right if self.expected is None else self.expected

    def tied_images(self, counted: BoolArray) -> int:
        """The number of counted images with ties across the k-th place."""
        return 0 if self.tied is None else int((self.tied & counted).sum())


def ties_at(predictions: Predictions, k: int) -> Ties | None:
    """The ties across place ``k``, as far as they are known: they take all scores, or those of more than k classes."""
    if k == predictions.k:
        return predictions.ties
    if predictions.scores is None:
        return None
    tied = predictions.scores == predictions.scores[:, k - 1 : k]
    rows = np.flatnonzero(tied[:, k] & (predictions.classes[:, k] != NO_ANSWER))
    if not len(rows):
        return None
    width = int(predictions.classes.max()) + 1 if predictions.ties is None else 8 * predictions.ties.bits.shape[1]
    among = np.zeros((len(rows), width), dtype=bool)
    np.put_along_axis(among, predictions.classes[rows].astype(np.int64), tied[rows], axis=1)
    if predictions.ties is not None:
        _, own, theirs = np.intersect1d(rows[tied[rows, -1]], predictions.ties.rows, return_indices=True)
        among[np.flatnonzero(tied[rows, -1])[own]] |= predictions.ties.classes(theirs, width)
    return Ties(rows, np.packbits(among, axis=1))


@dataclass(frozen=True, eq=False)
class Scoring:
    """How predictions are scored on a test set: directly, or through a map between class spaces.

    With a ``class_map``, predictions are scored in the map's target class space, and the labels of the test set are
    translated to it by class id.
    """

    test_set: TestSet
    class_map: ClassMap | None = None

    @cached_property
    def labels(self) -> IntArray:
        """Shape (n,): labels as indices of the class space they are scored in; `UNLABELED` if outside it."""
        space = self.test_set.class_space
        if self.class_map is None or self.class_map.target == space:
            return self.test_set.labels
        translate = np.array([self.class_map.target.index_of.get(c, UNLABELED) for c in space.ids] + [UNLABELED])
        return translate[self.test_set.labels]

    @cached_property
    def counted(self) -> BoolArray:
        """Shape (n,): the examples that can be scored."""
        labeled = self.labels != UNLABELED
        if self.class_map is None:
            return labeled
        return labeled & np.append(self.class_map.scorable, False)[self.labels]

    @property
    def rule(self) -> str:
        """The label-space rule in words; empty if predictions and labels share a class space."""
        if self.class_map is None:
            return ""
        spaces = f"{self.class_map.source.name} onto {self.class_map.target.name}"
        classes = amount(len(self.class_map.mapped), "class", "classes")
        words = f"label space: {self.class_map.rule.value}, {spaces} ({classes})"
        labeled = self.test_set.labeled
        left_out = int((labeled & ~self.counted).sum())
        if not left_out:
            return words
        return f"{words}; {left_out:,} of {labeled.sum():,} labeled examples are left out, their classes are not scored"

    def top_k(self, predictions: Predictions, k: int) -> TopK:
        """Whether the label is among the top k classes; raises if too few classes are stored."""
        certain = np.zeros(len(predictions), dtype=bool)
        if self.class_map is None:
            top_k = TopK(top_k_correct(predictions.top(k), self.labels), certain)
        elif self.class_map.rule is MapRule.ANY_IN_TOP_K:
            top_k = TopK(mapped_correct(predictions.top(k), self.labels, self.class_map), certain)
        else:
            return self._within(predictions, k, self.class_map)
        return top_k if k == 1 else self._expected(top_k, ties_at(predictions, k), predictions.top(k))

    def _expected(self, top_k: TopK, ties: Ties | None, classes: IntArray, allowed: IntArray | None = None) -> TopK:
        """Add the expected value under random tie-breaking; ``classes`` (n, k) index the ``allowed`` ones, if given."""
        if ties is None:
            return top_k
        expected, tied = top_k.right.astype(np.float64), np.zeros(len(top_k.right), dtype=bool)
        tied[ties.rows] = True
        for start in range(0, len(ties), _ROWS):
            chosen = np.arange(start, min(start + _ROWS, len(ties)))
            rows = ties.rows[chosen]
            accepted = self._accepted(rows) if allowed is None else self._accepted(rows)[:, allowed]
            among = ties.classes(chosen, accepted.shape[1])
            expected[rows] = expected_correct(classes[rows], among, accepted)
        return replace(top_k, expected=expected, tied=tied)

    def _accepted(self, rows: IntArray) -> BoolArray:
        """Shape (m, c): which predicted classes are right for some images; none without a label."""
        labels = self.labels[rows]
        if self.class_map is None:
            return np.asarray(labels[:, None] == np.arange(len(self.test_set.class_space)))
        return np.asarray(self.class_map.accepts[labels] & (labels != UNLABELED)[:, None])

    def _within(self, predictions: Predictions, k: int, class_map: ClassMap) -> TopK:
        allowed = class_map.mapped
        if k > len(allowed):
            raise UndefinedError(f"top-{k} among {amount(len(allowed), 'class', 'classes')} has no meaning")
        if k > 1 and predictions.full_scores is None:
            raise UndefinedError(f"top-{k} among {amount(len(allowed), 'class', 'classes')} needs full scores")
        answered = predictions.top1 != NO_ANSWER
        best = np.full((len(predictions), k), NO_ANSWER)
        best[:, 0] = best_within(predictions.classes, allowed)
        ties, classes = None, best
        if predictions.full_scores is not None:
            scores = np.asarray(predictions.full_scores)[answered]
            within = top_k_within(scores, allowed, k=k)
            classes = np.searchsorted(allowed, within)
            ties = ties_across(scores[:, allowed], classes)
            # for k=1 the stored top classes take precedence: they were computed before scores were rounded
            best[answered] = np.where(best[answered] < 0, within, best[answered]) if k == 1 else within
        top_k = TopK(mapped_correct(best, self.labels, class_map), (best[:, 0] < 0) & answered)
        if ties is None or k == 1:
            return top_k
        places = np.zeros((len(predictions), k), dtype=np.int64)
        places[answered] = classes
        return self._expected(top_k, Ties(np.flatnonzero(answered)[ties.rows], ties.bits), places, allowed)


@dataclass(frozen=True, eq=False)
class MultilabelScoring:
    """How predictions are scored against judged labels: the labels, the rule, and the collapsed classes if any."""

    labels: LabelSet
    rule: MultilabelRule = MultilabelRule.IMAGES
    collapsed: Mapping[int, tuple[int, ...]] | None = None

    @property
    def accepted_in_words(self) -> str:
        """Which judgments count as correct."""
        states = " or ".join(state.name.lower() for state in self.rule.accepted)
        return states + (", collapsed classes accepted" if self.collapsed else "")

    def judge(self, predictions: Predictions, test_set: TestSet) -> Judged:
        """Judge each prediction by the labels; predictions in another class space raise."""
        if predictions.class_space != test_set.class_space.name:
            raise MismatchError(
                f"{predictions.model!r} predicts {predictions.class_space} classes, which cannot be scored against "
                f"judged labels in {test_set.class_space.name}"
            )
        return judge(
            predictions.top1,
            self.labels,
            rule=self.rule,
            originals=test_set.labels,
            collapsed=self.collapsed,
        )


def scoring_for(
    test_set: TestSet, predicted: ClassSpace, *, within: ClassSpace | None = None, class_map: ClassMap | None = None
) -> Scoring:
    """The scoring of predictions in one class space against a test set.

    ``within`` restricts both labels and predictions to some classes; a test set labeled in a subset of
    the predicted classes (ImageNet-A, -R) is scored within that subset. Other spaces need ``class_map``.
    """
    if class_map is not None:
        return Scoring(test_set, class_map)
    if within is not None:
        return Scoring(test_set, subset_map(predicted, within))
    if predicted.digest == test_set.class_space.digest:
        return Scoring(test_set)
    if set(test_set.class_space.ids) <= set(predicted.ids):
        return Scoring(test_set, subset_map(predicted, test_set.class_space))
    raise MismatchError(
        f"predictions in {predicted.name!r} cannot be scored against labels in {test_set.class_space.name!r}: "
        "give a class map with --map"
    )
