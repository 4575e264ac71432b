"""Multi-label correctness: a prediction is right if reviewers judged its class correct for the image.

Shankar et al. 2020 and the later annotations average in two ways: over images, or over classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np

from regrade.core.arrays import BoolArray, IntArray
from regrade.core.errors import MismatchError
from regrade.core.label_set import LabelSet, LabelState


class MultilabelRule(Enum):
    """Which judged classes count as right, and whether the accuracy is averaged over images or classes."""

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
    """One model's predictions graded by judged labels: three flags per image, shape (n,).

    ``scored`` marks the images that count. A ``novel`` prediction has not been judged by anyone and is never
    ``right``.
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
    """Grade each image's predicted class (n,) by its judged labels.

    ``originals`` (n,) are the original labels of the test set. ``collapsed[l]`` are classes that also count as right
    for original label l (default: none).
    """
    if not len(predictions) == len(labels) == len(originals):
        raise MismatchError(
            f"predictions, labels and originals must cover the same images, got {len(predictions)}, {len(labels)} "
            f"and {len(originals)}"
        )
    states = labels.states_of(predictions)
    right = np.isin(states, rule.accepted)
    if collapsed:
        right |= _in_collapsed(predictions, originals, collapsed)
    novel = (states == LabelState.UNJUDGED) & ~right
    scored = labels.scored
    return Judged(right & scored, novel & scored, scored)


def _in_collapsed(predictions: IntArray, originals: IntArray, collapsed: Mapping[int, tuple[int, ...]]) -> BoolArray:
    listed = [(label, also) for label, group in collapsed.items() for also in group]
    pairs = np.array(listed, dtype=np.int64).reshape(-1, 2)
    base = int(max(predictions.max(initial=0), originals.max(initial=0), pairs.max(initial=0))) + 1
    keys = originals.astype(np.int64) * base + predictions
    return np.isin(keys, pairs[:, 0] * base + pairs[:, 1]) & (originals >= 0) & (predictions >= 0)
