"""Audits of labels: a random sample of the labels that all models agree with, and what people decided about them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from regrade.core.arrays import BoolArray, IntArray
from regrade.core.errors import InputError, MismatchError
from regrade.core.label_set import LabelState


@dataclass(frozen=True, eq=False)
class LabelAudit:
    """Labels that all ``models`` predict as (example, class) pairs (r,), of which the first ``drawn`` are audited.

    The pairs are in random order. ``states`` (r,) are the decisions as `LabelState`, `LabelState.UNJUDGED` without one.
    ``queue`` is the queue of the ledger in which people decide, ``labels`` the full name of the audited labels.
    """

    queue: str
    test_set: str
    labels: str
    models: tuple[str, ...]
    examples: IntArray
    classes: IntArray
    drawn: int
    states: IntArray

    def __post_init__(self) -> None:
        if not len(self.examples) == len(self.classes) == len(self.states):
            raise MismatchError(f"audit {self.queue!r}: examples, classes and states differ in length")
        if not 0 <= self.drawn <= len(self):
            raise InputError(f"audit {self.queue!r}: {self.drawn:,} of {len(self):,} labels cannot be drawn")
        if self.judged[self.drawn :].any():
            raise InputError(f"audit {self.queue!r}: a label that was not drawn is judged")

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def judged(self) -> BoolArray:
        """Shape (r,): the labels with a decision."""
        mask: BoolArray = self.states != LabelState.UNJUDGED
        return mask

    def count(self, state: LabelState) -> int:
        """The number of labels with a decision."""
        return int((self.states == state).sum())

    def draw(self, size: int) -> LabelAudit:
        """The audit with the next ``size`` labels drawn."""
        left = len(self) - self.drawn
        if not 1 <= size <= left:
            raise InputError(f"{left:,} labels can still be drawn, got a size of {size:,}")
        return replace(self, drawn=self.drawn + size)

    def continues(self, earlier: LabelAudit) -> bool:
        """Whether this is an earlier audit with more labels drawn, or with other decisions."""
        return self.frame_digest == earlier.frame_digest and self.drawn >= earlier.drawn

    @cached_property
    def frame_digest(self) -> str:
        """A hash of the labels in their random order, and of what they are labels of, without the test set's name."""
        state = hashlib.sha256(json.dumps([self.queue, self.labels, self.models]).encode())
        for values in (self.examples, self.classes):
            state.update(np.ascontiguousarray(values, dtype="<i8").tobytes())
        return state.hexdigest()

    @cached_property
    def digest(self) -> str:
        """A hash of the labels, of how many are drawn, and of the decisions."""
        state = hashlib.sha256(f"{self.frame_digest} {self.drawn}\n".encode())
        state.update(np.ascontiguousarray(self.states, dtype="<i1").tobytes())
        return state.hexdigest()
