"""The labels of a test set, looked up image by image."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from regrade.core import LabelSet, LabelState
from regrade.core.arrays import IntArray


@dataclass(frozen=True)
class KnownLabels:
    """The classes of one image that people have judged, by index, and why it is not scored, if it is not."""

    correct: tuple[int, ...]
    unclear: tuple[int, ...]
    wrong: tuple[int, ...]
    problematic: str


class LabelLookup:
    """A label set that finds what is known of one image at once."""

    def __init__(self, labels: LabelSet) -> None:
        self.labels = labels

    @cached_property
    def _order(self) -> IntArray:
        return np.lexsort((self.labels.classes, self.labels.examples))

    @cached_property
    def _examples(self) -> IntArray:
        return self.labels.examples[self._order]

    def of(self, position: int) -> KnownLabels:
        """What is known of a image."""
        begin, end = np.searchsorted(self._examples, [position, position + 1])
        rows = self._order[begin:end]
        states, classes = self.labels.states[rows], self.labels.classes[rows]

        def judged(state: LabelState) -> tuple[int, ...]:
            return tuple(classes[states == state].tolist())

        return KnownLabels(
            judged(LabelState.CORRECT),
            judged(LabelState.UNCLEAR),
            judged(LabelState.WRONG),
            self.labels.reasons[position],
        )
