"""Multi-label accuracy: a prediction is right if people found its class in the image.

Shankar et al. 2020 and the later annotations score it in two ways, here called by what they
average over: images, or classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np

from regrade.core.arrays import BoolArray, IntArray
from regrade.core.errors import InputError, MismatchError, UndefinedError
from regrade.core.label_set import LabelSet, LabelState


class MultilabelRule(Enum):
    """Which judged classes count as right, and what the accuracy is a mean over."""

    IMAGES = "images"
    """Only *correct* classes count; the mean is over images (human evaluation in Shankar et al. 2020)."""

    CLASSES = "classes"
    """*Correct* and *unclear* count; the mean is over the classes of the original labels, each over its
    images (the released annotations; Vasudevan et al. 2022)."""

    @property
    def accepted(self) -> tuple[LabelState, ...]:
        """The states that count as right."""
        if self is MultilabelRule.IMAGES:
            return (LabelState.CORRECT,)
        return (LabelState.CORRECT, LabelState.UNCLEAR)


@dataclass(frozen=True)
class Judged:
    """What the labels make of one model's predictions, three flags an image, shape (n,).

    ``scored`` images count at all; of these a ``novel`` prediction has not been judged by anyone, and
    ``right`` is true only where a judgment says so. A novel prediction is never right.
    """

    right: BoolArray
    novel: BoolArray
    scored: BoolArray


def judge(
    predictions: IntArray,
    labels: LabelSet,
    *,
    rule: MultilabelRule,
    originals: IntArray,
    collapsed: Mapping[int, tuple[int, ...]] | None = None,
) -> Judged:
    """Hold each image's predicted class (n,) against its judged labels.

    ``originals`` (n,) are the test set's own labels. ``collapsed[l]`` are classes that also count for
    original label l; without it only the judgments decide.
    """
    if not len(predictions) == len(labels) == len(originals):
        raise MismatchError(f"{len(predictions)} predictions, {len(labels)} judged images, {len(originals)} labels")
    states = labels.states_of(predictions)
    right = np.isin(states, rule.accepted)
    if collapsed:
        right |= _in_collapsed(predictions, originals, collapsed)
    novel = (states == LabelState.UNJUDGED) & ~right
    scored = labels.scored
    return Judged(right & scored, novel & scored, scored)


def multilabel_accuracy(right: BoolArray, scored: BoolArray, originals: IntArray, *, rule: MultilabelRule) -> float:
    """The accuracy over the scored images, averaged as the rule says.

    By classes, those without a scored image are left out, and a scored image without an original label
    raises: it belongs to no class. No scored image raises.
    """
    if not scored.any():
        raise UndefinedError("no image is scored: the labels cover none, or all are problematic")
    if rule is MultilabelRule.IMAGES:
        return float(right[scored].mean())
    if (originals[scored] < 0).any():
        raise InputError("a scored image has no original label: a mean over classes needs one for each")
    _, classes = np.unique(originals[scored], return_inverse=True)
    return float((np.bincount(classes, weights=right[scored]) / np.bincount(classes)).mean())


def _in_collapsed(predictions: IntArray, originals: IntArray, collapsed: Mapping[int, tuple[int, ...]]) -> BoolArray:
    listed = [(label, also) for label, group in collapsed.items() for also in group]
    pairs = np.array(listed, dtype=np.int64).reshape(-1, 2)
    base = int(max(predictions.max(initial=0), originals.max(initial=0), pairs.max(initial=0))) + 1
    keys = originals.astype(np.int64) * base + predictions
    return np.isin(keys, pairs[:, 0] * base + pairs[:, 1]) & (originals >= 0) & (predictions >= 0)
