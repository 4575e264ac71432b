"""Scoring: whether predictions are correct under a test set's labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
    UndefinedError,
    subset_map,
)
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, IntArray
from regrade.metrics import (
    Judged,
    MultilabelRule,
    best_within,
    judge,
    mapped_correct,
    top_k_correct,
    top_k_within,
)

EVERYTHING = "all"
"""The name of the slice that contains every example."""

FEWEST_DRAWN = 20
"""Figures leave out slices and groups with fewer images, whose intervals are up to 46 points wide."""


@dataclass(frozen=True)
class TopK:
    """Top-k correctness of one model: ``right`` (n,), and ``undetermined`` (n,) if too few classes are stored."""

    right: BoolArray
    undetermined: BoolArray


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
            return TopK(top_k_correct(predictions.top(k), self.labels), certain)
        if self.class_map.rule is MapRule.ANY_IN_TOP_K:
            return TopK(mapped_correct(predictions.top(k), self.labels, self.class_map), certain)
        return self._within(predictions, k, self.class_map)

    def _within(self, predictions: Predictions, k: int, class_map: ClassMap) -> TopK:
        allowed = class_map.mapped
        if k > len(allowed):
            raise UndefinedError(f"top-{k} among {amount(len(allowed), 'class', 'classes')} has no meaning")
        if k > 1 and predictions.full_scores is None:
            raise UndefinedError(f"top-{k} among {amount(len(allowed), 'class', 'classes')} needs full scores")
        answered = predictions.top1 != NO_ANSWER
        best = np.full((len(predictions), k), NO_ANSWER)
        best[:, 0] = best_within(predictions.classes, allowed)
        if predictions.full_scores is not None:
            within = top_k_within(np.asarray(predictions.full_scores)[answered], allowed, k=k)
            # for k=1 the stored top classes take precedence: they were computed before scores were rounded
            best[answered] = np.where(best[answered] < 0, within, best[answered]) if k == 1 else within
        return TopK(mapped_correct(best, self.labels, class_map), (best[:, 0] < 0) & answered)


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
