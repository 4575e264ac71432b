"""Label sets: people's judgments of which classes are correct for each example, with a version."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from functools import cached_property

import numpy as np

from regrade.core.arrays import BoolArray, IntArray
from regrade.core.errors import InputError, MismatchError
from regrade.core.test_set import TestSet


class LabelState(IntEnum):
    """The judgment of one class for one image (Shankar et al. 2020)."""

    UNJUDGED = 0
    CORRECT = 1
    UNCLEAR = 2
    WRONG = 3
    PROBLEMATIC = 4
    """The whole image should not be scored. Only used in reviews, not in label sets."""


class Unlisted(Enum):
    """The state of classes that are not listed for an example."""

    NOVEL = "novel"
    """Not judged yet (multi-label annotations)."""

    WRONG = "wrong"
    """Wrong, because the lists are complete (ReaL)."""


def without_version(labels: str) -> str:
    """The name of a label set without its version.

    >>> without_version("real@1"), without_version("real")
    ('real', 'real')
    """
    return labels.rpartition("@")[0] or labels


@dataclass(frozen=True, eq=False)
class LabelSet:
    """Judged (example, class) pairs of one test set, in one class space of ``class_count`` classes.

    ``examples``, ``classes`` and ``states`` (r,) contain one judgment per row. ``covered`` (n,) marks the
    examples with judgments; the others are not scored. ``reasons`` contains for each problematic example
    why it should not be scored, and is empty for the others. ``queues`` are the review queues of the ledger whose
    decisions were added to the newest version without decisions; empty for imported label sets.
    """

    name: str
    version: int
    test_set: str
    class_count: int
    examples: IntArray
    classes: IntArray
    states: IntArray
    covered: BoolArray
    reasons: tuple[str, ...]
    unlisted: Unlisted
    origin: str = ""
    queues: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.reasons) != len(self.covered):
            raise MismatchError(f"label set {self.name!r}: {len(self.covered)} examples, {len(self.reasons)} reasons")
        if not len(self.examples) == len(self.classes) == len(self.states):
            raise MismatchError(f"label set {self.name!r}: examples, classes and states differ in length")
        for what, values, size in (
            ("example", self.examples, len(self)),
            ("class", self.classes, self.class_count),
        ):
            if np.any((values < 0) | (values >= size)):
                raise InputError(f"label set {self.name!r}: a judged {what} is outside the range of {size}")
        if not np.isin(self.states, (LabelState.CORRECT, LabelState.UNCLEAR, LabelState.WRONG)).all():
            raise InputError(f"label set {self.name!r}: every judgment must be correct, unclear or wrong")
        ordered = self._sorted_keys
        if len(ordered) and (clash := np.flatnonzero(np.diff(ordered) == 0)).size:
            example, label = divmod(int(ordered[clash[0]]), self.class_count)
            raise InputError(f"label set {self.name!r}: class {label} of example {example} is judged twice")

    def __len__(self) -> int:
        return len(self.covered)

    @property
    def full_name(self) -> str:
        """The name with its version: ``real@1``."""
        return f"{self.name}@{self.version}"

    @cached_property
    def problematic(self) -> BoolArray:
        """Shape (n,): examples that should not be scored."""
        return np.array([bool(reason) for reason in self.reasons], dtype=bool)

    @property
    def scored(self) -> BoolArray:
        """Shape (n,): examples that are scored: covered and not problematic."""
        return self.covered & ~self.problematic

    def states_of(self, classes: IntArray) -> IntArray:
        """Shape (n,): the judgment of one class for each example, as `LabelState`.

        Unlisted classes are `UNJUDGED`, or `WRONG` if the lists are complete. A missing prediction (-1) is
        always `WRONG`.
        """
        if np.any(classes >= self.class_count):
            raise MismatchError(f"label set {self.name!r} has {self.class_count} classes, got class {classes.max()}")
        predicted = classes >= 0
        keys = np.arange(len(self)) * self.class_count + classes
        places = np.searchsorted(self._sorted_keys, keys)
        places[places == len(self._sorted_keys)] = 0
        listed = (
            predicted & (self._sorted_keys[places] == keys) if len(self._sorted_keys) else np.zeros(len(self), bool)
        )
        unlisted = LabelState.WRONG if self.unlisted is Unlisted.WRONG else LabelState.UNJUDGED
        states = np.where(predicted, unlisted, LabelState.WRONG).astype(np.int8)
        states[listed] = self._sorted_states[places[listed]]
        return states

    def with_judgments(self, judgments: Mapping[tuple[int, int], LabelState], problems: Mapping[int, str]) -> LabelSet:
        """A copy of the set with judgments added or replaced, by example and class.

        ``problems`` contains by example why it should not be scored; existing reasons are kept.
        """
        pairs = np.array(list(judgments), dtype=np.int64).reshape(-1, 2)
        kept = ~np.isin(self._keys, pairs[:, 0] * self.class_count + pairs[:, 1])
        covered = self.covered.copy()
        covered[[*pairs[:, 0].tolist(), *problems]] = True
        return replace(
            self,
            examples=np.concatenate([self.examples[kept], pairs[:, 0]]),
            classes=np.concatenate([self.classes[kept], pairs[:, 1]]),
            states=np.concatenate([self.states[kept], np.array(list(judgments.values()), dtype=np.int8)]),
            covered=covered,
            reasons=tuple(reason or problems.get(place, "") for place, reason in enumerate(self.reasons)),
        )

    @cached_property
    def digest(self) -> str:
        """A hash of the judgments, independent of their order."""
        state = hashlib.sha256(f"{self.unlisted.value} {self.class_count} {len(self)}\n".encode())
        state.update(np.ascontiguousarray(self._sorted_keys, dtype="<i8").tobytes())
        state.update(np.ascontiguousarray(self._sorted_states, dtype="<i1").tobytes())
        state.update(np.packbits(self.covered).tobytes())
        state.update("\n".join(self.reasons).encode())
        return state.hexdigest()

    @cached_property
    def _order(self) -> IntArray:
        return np.argsort(self._keys, kind="stable")

    @property
    def _keys(self) -> IntArray:
        return self.examples.astype(np.int64) * self.class_count + self.classes

    @cached_property
    def _sorted_keys(self) -> IntArray:
        return self._keys[self._order]

    @cached_property
    def _sorted_states(self) -> IntArray:
        return self.states[self._order]


def own_labels(test_set: TestSet, *, name: str) -> LabelSet:
    """A label set of the original labels: each is correct, and no other class is judged yet."""
    examples = np.flatnonzero(test_set.labeled)
    return LabelSet(
        name,
        1,
        test_set.name,
        len(test_set.class_space),
        examples,
        test_set.labels[examples].astype(np.int64),
        np.full(len(examples), LabelState.CORRECT, dtype=np.int8),
        test_set.labeled,
        ("",) * len(test_set),
        Unlisted.NOVEL,
        "the images' own labels",
    )
