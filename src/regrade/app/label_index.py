"""A label set indexed by image."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from regrade.core import LabelSet, LabelState
from regrade.core.arrays import IntArray


@dataclass(frozen=True)
class JudgedLabels:
    """The judged classes of one image, by index, and the reason if the image is problematic and not scored."""

    correct: tuple[int, ...]
    unclear: tuple[int, ...]
    wrong: tuple[int, ...]
    problematic: str


class LabelIndex:
    """A label set with fast lookup of the labels of one image."""

    def __init__(self, labels: LabelSet) -> None:
        self.labels = labels

    @cached_property
    def _order(self) -> IntArray:
        return np.lexsort((self.labels.classes, self.labels.examples))

    @cached_property
    def _examples(self) -> IntArray:
        return self.labels.examples[self._order]

    def of(self, position: int) -> JudgedLabels:
        """The labels of the image at a position."""
        begin, end = np.searchsorted(self._examples, [position, position + 1])
        rows = self._order[begin:end]
        states, classes = self.labels.states[rows], self.labels.classes[rows]

        def judged(state: LabelState) -> tuple[int, ...]:
            return tuple(classes[states == state].tolist())

        return JudgedLabels(
            judged(LabelState.CORRECT),
            judged(LabelState.UNCLEAR),
            judged(LabelState.WRONG),
            self.labels.reasons[position],
        )
