"""The random sample of novel predictions: all of them in random order, with the decisions on those judged so far."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

import numpy as np

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import MismatchError
from regrade.core.label_set import LabelState


class StratifyBy(Enum):
    """How a review sample is stratified."""

    NOTHING = "nothing"
    VOTES = "votes"
    """By the number of models that predict this class for this image: 1, 2-3, 4-7, 8 or more."""
    SCORE = "score"
    """By the highest score that any model gives it, in quartiles."""


@dataclass(frozen=True, eq=False)
class NovelSample:
    """All (example, class) pairs that are novel under one label set, in the random order in which they are judged.

    ``examples``, ``classes``, ``strata``, ``turns``, ``proxy`` and ``states`` (f,) contain one pair per row: its
    stratum, its turn from 0, the share of models that predict it (a proxy of the decision), and the decision
    (`LabelState.UNJUDGED` until there is one). The first ``drawn`` turns were drawn for review so far; since the order
    is random, they are a random sample of any size. ``stratified_by`` describes the strata; ``reasons`` contains by row
    why its image is problematic, if a reason was given.
    """

    test_set: str
    labels: str
    class_count: int
    examples: IntArray
    classes: IntArray
    strata: IntArray
    turns: IntArray
    proxy: FloatArray
    states: IntArray
    stratified_by: str
    drawn: int = 0
    reasons: Mapping[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        parts = (self.examples, self.classes, self.strata, self.turns, self.proxy, self.states)
        if len({len(part) for part in parts}) != 1:
            raise MismatchError("the columns of a review frame differ in length")

    def __len__(self) -> int:
        return len(self.examples)

    def given_out(self, start: int, stop: int) -> IntArray:
        """The rows of the turns from ``start`` up to ``stop``, in their order."""
        return np.argsort(self.turns, kind="stable")[start:stop]

    @property
    def judged(self) -> BoolArray:
        """Shape (f,): the pairs with a decision."""
        return self.states != LabelState.UNJUDGED

    @cached_property
    def problematic(self) -> IntArray:
        """The examples, ascending, with a problematic decision on any of their pairs; they are not scored."""
        return np.unique(self.examples[self.states == LabelState.PROBLEMATIC])

    def first_rows(self, examples: IntArray) -> IntArray:
        """The first row of each given example; -1 for examples without a pair in the frame."""
        listed, rows = np.unique(self.examples, return_index=True)
        if not listed.size:
            return np.full(len(examples), -1)
        places = np.minimum(np.searchsorted(listed, examples), len(listed) - 1)
        return np.where(listed[places] == examples, rows[places], -1)

    def find(self, examples: IntArray, classes: IntArray) -> IntArray:
        """The rows of the given pairs; -1 for pairs that are not in the frame."""
        keys = examples.astype(np.int64) * self.class_count + classes
        if not len(self):
            return np.full(len(keys), -1)
        places = np.minimum(np.searchsorted(self._keys[self._order], keys), len(self) - 1)
        rows = self._order[places]
        return np.where(self._keys[rows] == keys, rows, -1)

    @cached_property
    def digest(self) -> str:
        """A hash of the frame and its order, without the decisions."""
        state = hashlib.sha256(f"{self.test_set}\n{self.labels}\n{self.stratified_by}".encode())
        for part in (self.examples, self.classes, self.strata, self.turns):
            state.update(np.ascontiguousarray(part, dtype="<i8").tobytes())
        return state.hexdigest()

    @cached_property
    def _keys(self) -> IntArray:
        return self.examples.astype(np.int64) * self.class_count + self.classes

    @cached_property
    def _order(self) -> IntArray:
        return np.argsort(self._keys, kind="stable")


@dataclass(frozen=True, eq=False)
class ReviewDecisions:
    """ReviewDecisions on pairs of example and class: examples, classes and states (v,).

    ``reasons`` maps an index into these arrays to why the image is problematic. ``notes`` say what was not used.
    """

    examples: IntArray
    classes: IntArray
    states: IntArray
    reasons: Mapping[int, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
