"""Slices added to a test set: named subsets of its examples, and additional group columns."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from regrade.core.arrays import BoolArray
from regrade.core.errors import InputError, MismatchError


@dataclass(frozen=True, eq=False)
class SliceSet:
    """Slices and group columns from one file, in the order of the test set, which is not changed.

    ``subsets`` maps the name of a slice to its members (n,), and ``columns`` the name of a group column to one value
    per example. All names are the name of the set, or ``set:part``. ``chosen_hard`` means that the subsets were chosen
    because models fail on them, so that a low accuracy is not a finding.
    """

    name: str
    test_set: str
    size: int
    subsets: Mapping[str, BoolArray] = field(default_factory=dict)
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    origin: str = ""
    chosen_hard: bool = False

    def __post_init__(self) -> None:
        if not self.names:
            raise InputError(f"slice set {self.name!r} has no slices")
        for name, values in (*self.subsets.items(), *self.columns.items()):
            if name != self.name and not name.startswith(f"{self.name}:"):
                raise InputError(f"the name of slice {name!r} must be {self.name} or begin with {self.name}:")
            if len(values) != self.size:
                raise MismatchError(f"slice {name!r}: {len(values)} values for {self.size} examples")

    @property
    def names(self) -> tuple[str, ...]:
        """The subsets, then the group columns."""
        return (*self.subsets, *self.columns)

    @cached_property
    def digest(self) -> str:
        """A hash of all slices and columns, independent of their order."""
        state = hashlib.sha256(f"{self.size}\n".encode())
        for name in sorted(self.subsets):
            state.update(f"slice {name}\n".encode() + np.packbits(self.subsets[name]).tobytes())
        for name in sorted(self.columns):
            state.update("\n".join([f"column {name}", *self.columns[name]]).encode())
        return state.hexdigest()
