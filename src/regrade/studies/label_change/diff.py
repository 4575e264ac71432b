"""Differences between two label versions: pairs of image and class, and problematic images."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from regrade.core import LabelSet, LabelState, MismatchError
from regrade.core.arrays import BoolArray, IntArray


@dataclass(frozen=True)
class ProblemChange:
    """An image whose problem status or reason changed; a reason is empty if the image is not problematic."""

    example: int
    before: str
    after: str


@dataclass(frozen=True, eq=False)
class LabelDiff:
    """Pairs whose state differs, one per row (r,) in the order of the test set, and changes of problematic images.

    A pair that a version does not list has the state `LabelState.UNJUDGED`. ``newly_covered`` and
    ``no_longer_covered`` count images that only one of the versions covers.
    """

    before: str
    after: str
    examples: IntArray
    classes: IntArray
    was: IntArray
    now: IntArray
    problems: tuple[ProblemChange, ...]
    newly_covered: int
    no_longer_covered: int

    def __bool__(self) -> bool:
        return bool(len(self.examples) or self.problems or self.newly_covered or self.no_longer_covered)

    def count(self, was: LabelState, now: LabelState) -> int:
        """How many pairs changed from one state to another."""
        return int(((self.was == was) & (self.now == now)).sum())

    def moves(self) -> Iterator[tuple[LabelState, LabelState, int]]:
        """Every change of state that occurs, with its count: additions first, then changes, then removals."""
        states = (LabelState.CORRECT, LabelState.UNCLEAR, LabelState.WRONG)
        added = [(LabelState.UNJUDGED, now) for now in states]
        changed = [(was, now) for was in states for now in states if was is not now]
        removed = [(was, LabelState.UNJUDGED) for was in states]
        for was, now in [*added, *changed, *removed]:
            if number := self.count(was, now):
                yield was, now, number

    def counts(self) -> dict[str, int]:
        """The number of changes of each kind, by its description."""
        pairs = {describe_change(was, now): number for was, now, number in self.moves()}
        images = {
            "problematic": self.became_problematic,
            "no longer problematic": self.no_longer_problematic,
            "problematic for another reason": sum(bool(change.before and change.after) for change in self.problems),
            "newly covered": self.newly_covered,
            "no longer covered": self.no_longer_covered,
        }
        return pairs | {
            f"{'image' if number == 1 else 'images'} {what}": number for what, number in images.items() if number
        }

    @property
    def became_problematic(self) -> int:
        """Images that are problematic only in the second version."""
        return sum(not change.before for change in self.problems)

    @property
    def no_longer_problematic(self) -> int:
        """Images that are problematic only in the first version."""
        return sum(not change.after for change in self.problems)


def describe_change(was: LabelState, now: LabelState) -> str:
    """Describe a pair's change of state.

    >>> describe_change(LabelState.UNJUDGED, LabelState.CORRECT), describe_change(LabelState.CORRECT, LabelState.WRONG)
    ('correct added', 'correct now wrong')
    """
    if was is LabelState.UNJUDGED:
        return f"{state_word(now)} added"
    if now is LabelState.UNJUDGED:
        return f"{state_word(was)} taken back"
    return f"{state_word(was)} now {state_word(now)}"


def state_word(state: int) -> str:
    """The name of a state, for people."""
    return LabelState(state).name.lower()


def label_diff(before: LabelSet, after: LabelSet, *, inside: BoolArray | None = None) -> LabelDiff:
    """Compare two label sets of one test set, on the images (n,) that are ``inside`` (default: all)."""
    if (before.test_set, before.class_count, len(before)) != (after.test_set, after.class_count, len(after)):
        raise MismatchError(f"{before.full_name} and {after.full_name} are labels of different test sets or classes")
    compared = np.ones(len(before), dtype=bool) if inside is None else inside
    keys = np.union1d(_keys(before), _keys(after))
    was, now = (_states_at(labels, keys) for labels in (before, after))
    differs = (was != now) & compared[keys // before.class_count]
    problems = tuple(
        ProblemChange(place, first, second)
        for place, (first, second) in enumerate(zip(before.reasons, after.reasons, strict=True))
        if first != second and compared[place]
    )
    return LabelDiff(
        before.full_name,
        after.full_name,
        keys[differs] // before.class_count,
        keys[differs] % before.class_count,
        was[differs],
        now[differs],
        problems,
        int((after.covered & ~before.covered & compared).sum()),
        int((before.covered & ~after.covered & compared).sum()),
    )


def _keys(labels: LabelSet) -> IntArray:
    return labels.examples.astype(np.int64) * labels.class_count + labels.classes


def _states_at(labels: LabelSet, keys: IntArray) -> IntArray:
    states = np.full(len(keys), LabelState.UNJUDGED, dtype=np.int8)
    states[np.searchsorted(keys, _keys(labels))] = labels.states
    return states
