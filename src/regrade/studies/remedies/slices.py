"""Slices on which remedies are compared, and cautions about slices that a compared model took part in choosing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regrade.core import TestSet, UnknownName
from regrade.studies.grade.analysis import slice_masks
from regrade.studies.hard_slices import hard_slice_caution
from regrade.studies.scoring import EVERYTHING
from regrade.studies.seeded_methods import MethodPair


@dataclass(frozen=True)
class ChosenSlices:
    """The slices of each test set by its name, and notes on slices that only some of the sets have."""

    names: dict[str, tuple[str, ...]]
    notes: tuple[str, ...]


def chosen_slices(test_sets: Sequence[TestSet], names: Sequence[str]) -> ChosenSlices:
    """Return the slices that each test set has; one that no test set has raises, with suggestions."""
    chosen: dict[str, list[str]] = {test_set.name: [] for test_set in test_sets}
    notes = []
    for name in names:
        errors: dict[str, UnknownName] = {}
        for test_set in test_sets:
            try:
                chosen[test_set.name] += [part for part in slice_masks(test_set, [name]) if part != EVERYTHING]
            except UnknownName as error:
                errors[test_set.name] = error
        if len(errors) == len(test_sets):
            raise next(iter(errors.values()))
        notes += [f"{test_set}: no slice {name}" for test_set in errors]
    return ChosenSlices({test_set: tuple(dict.fromkeys(parts)) for test_set, parts in chosen.items()}, tuple(notes))


def slice_cautions(test_set: TestSet, slices: Sequence[str], pairs: Sequence[MethodPair]) -> Iterator[str]:
    """Say where models are compared on images that were chosen because models fail on them."""
    compared = [model for pair in pairs for row in pair.rows for model in row]
    for slice_set in test_set.slice_sets:
        for name in slices:
            if slice_set.chosen_hard and name in slice_set.subsets:
                yield f"caution: {hard_slice_caution(slice_set, name, compared)}"
            elif slice_set.chosen_hard and test_set.base_slice(name) in slice_set.subsets:
                yield (
                    f"caution: {name} of {test_set.name} leaves out images that models fail on: a model that took part "
                    "in choosing them is at an advantage there (regression to the mean)"
                )
