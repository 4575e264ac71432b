"""Slices that come after a test set: named subsets of its examples, and further group columns."""

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
    """What one file says of the examples of a test set, in their order; the test set itself stays what it is.

    ``subsets`` maps a slice to whether an example is in it (n,), and ``columns`` a group column to one value an
    example. All are called as the set is, or ``set:part``. ``chosen_hard`` says that the subsets were chosen because
    models find them hard: that they are harder than the rest is no finding then.
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
                raise InputError(f"slice {name!r} must be called {self.name}, or {self.name}: and a name of its own")
            if len(values) != self.size:
                raise MismatchError(f"slice {name!r}: {len(values)} values for {self.size} examples")

    @property
    def names(self) -> tuple[str, ...]:
        """The subsets, then the group columns."""
        return (*self.subsets, *self.columns)

    @cached_property
    def digest(self) -> str:
        """A hash of what is in which slice, whatever order the slices came in."""
        state = hashlib.sha256(f"{self.size}\n".encode())
        for name in sorted(self.subsets):
            state.update(f"slice {name}\n".encode() + np.packbits(self.subsets[name]).tobytes())
        for name in sorted(self.columns):
            state.update("\n".join([f"column {name}", *self.columns[name]]).encode())
        return state.hexdigest()
