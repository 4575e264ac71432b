"""Test sets: examples with stable ids, labels and groups, and the compact form of many ids."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from typing import overload

import numpy as np
from numpy.typing import NDArray

from regrade.core.arrays import BoolArray, IntArray
from regrade.core.class_space import ClassSpace
from regrade.core.errors import InputError, MismatchError, UnknownName

UNLABELED = -1
"""The label of an example without a label."""

SELECTION_FREQUENCY = "selection_frequency"
"""The group column of a new test set: how often people selected each image for its class, in bins."""

SLICE_NAMES = "a class group (dogs), a class or WordNet id, COLUMN=VALUE, or an imported slice (imagenet-m)"
"""The names of slices, for help texts."""

_BLOCK = 1024  # ids that are hashed at a time
_DECODED = 1024  # strings that are decoded at a time


@dataclass(frozen=True, eq=False)
class SliceSet:
    """Slices and group columns from one file, in the order of the test set, which is not changed.

    ``subsets`` maps the name of a slice to its members (n,), and ``columns`` the name of a group column to one value
    per example. All names are the name of the set, or ``set:part``. ``chosen_hard`` means that the subsets were chosen
    because models fail on them, so that a low accuracy is not a finding; ``chosen_by`` names the ensemble or the
    models whose scores or mistakes chose them, if recorded.
    """

    name: str
    test_set: str
    size: int
    subsets: Mapping[str, BoolArray] = field(default_factory=dict)
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    origin: str = ""
    chosen_hard: bool = False
    chosen_by: tuple[str, ...] = ()

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


@dataclass(frozen=True)
class Example:
    """One example of a test set: its id, its class id or None, and its group values."""

    id: str
    label: str | None
    groups: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class TestSet:
    """Examples in a fixed order: position i of every field belongs to example i.

    ``labels`` are indices into the class space, or `UNLABELED`; ``groups`` maps a column such as region to one
    value per example. ``slice_sets`` were added later and are not part of the digest.
    """

    __test__ = False  # not a pytest class, in spite of its name

    name: str
    class_space: ClassSpace
    ids: Sequence[str]
    labels: IntArray
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    slice_sets: tuple[SliceSet, ...] = ()

    def __post_init__(self) -> None:
        columns = [(column, len(values)) for column, values in self.groups.items()]
        added = [(f"entries of {slices.name}", slices.size) for slices in self.slice_sets]
        for what, size in [("labels", len(self.labels)), *columns, *added]:
            if size != len(self.ids):
                raise MismatchError(f"test set {self.name!r}: {len(self.ids)} ids but {size} {what}")
        if not _all_differ(self.ids):
            raise InputError(f"test set {self.name!r}: an example id occurs twice; ids must be unique")
        if np.any((self.labels < UNLABELED) | (self.labels >= len(self.class_space))):
            raise InputError(f"test set {self.name!r}: a label is not a class of {self.class_space.name!r}")

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"<TestSet {self.name!r}: {len(self):,} examples, {len(self.class_space):,} classes>"

    @cached_property
    def position_of(self) -> Mapping[str, int]:
        """The position by example id."""
        return {example: position for position, example in enumerate(self.ids)}

    def position(self, example: str) -> int:
        """The position of an example by its id; raise if it is unknown."""
        if example not in self.position_of:
            raise UnknownName(f"image of {self.name}", example[:80], None)
        return self.position_of[example]

    @cached_property
    def digest(self) -> str:
        """A hash of class ids, example ids, labels and groups."""
        state = hashlib.sha256(self.class_space.digest.encode())
        for begin in range(0, len(self), _BLOCK):
            state.update(("\n" * bool(begin) + "\n".join(self.ids[begin : begin + _BLOCK])).encode())
        state.update(np.asarray(self.labels, dtype="<i4").tobytes())
        for column in sorted(self.groups):
            state.update("\n".join([column, *self.groups[column]]).encode())
        return state.hexdigest()

    def subset(self, name: str, positions: Sequence[int]) -> TestSet:
        """The examples at these positions, in this order, as a test set of its own with their labels and groups."""
        return TestSet(
            name,
            self.class_space,
            tuple(self.ids[position] for position in positions),
            self.labels[np.asarray(positions, dtype=np.int64)],
            {column: tuple(values[position] for position in positions) for column, values in self.groups.items()},
        )

    @property
    def labeled(self) -> BoolArray:
        """Shape (n,): which examples have a label."""
        return np.asarray(self.labels != UNLABELED)

    def example(self, position: int) -> Example:
        """The example at a position."""
        label = int(self.labels[position])
        return Example(
            self.ids[position],
            None if label == UNLABELED else self.class_space.ids[label],
            {column: values[position] for column, values in self.group_columns.items()},
        )

    @cached_property
    def group_columns(self) -> Mapping[str, tuple[str, ...]]:
        """All group columns, including those that were added later."""
        return {**self.groups, **{name: values for added in self.slice_sets for name, values in added.columns.items()}}

    @cached_property
    def subsets(self) -> Mapping[str, BoolArray]:
        """The named subsets that were added later, each (n,)."""
        return {name: inside for added in self.slice_sets for name, inside in added.subsets.items()}

    @property
    def hard_slices(self) -> frozenset[str]:
        """The named subsets that were chosen because models fail on them."""
        return frozenset(name for slices in self.slice_sets if slices.chosen_hard for name in slices.subsets)

    def slices_of(self, name: str) -> tuple[str, ...]:
        """The slices of a name: the values of a group column, the parts of a slice set, or the name itself."""
        if name in self.group_columns:
            return tuple(f"{name}={value}" for value in sorted(set(self.group_columns[name])))
        parts = next((added.names for added in self.slice_sets if added.name == name), ())
        if not parts or name in self.subsets:
            return (name,)
        return tuple(slice_name for part in parts for slice_name in self.slices_of(part))

    def slice(self, name: str) -> BoolArray:
        """Shape (n,): the examples of a slice.

        A slice is a named subset, ``column=value`` of a group column, or a group of the class space (a named
        group, a class id or a concept of its hierarchy) that contains the label of the example. ``not`` (or
        ``without``) and a slice is its complement; an example without a label or value belongs to neither.
        """
        rest = self._complemented(name)
        return self._own_slice(name) if rest is None else self._decidable(rest) & ~self.slice(rest)

    def base_slice(self, name: str) -> str:
        """The slice that a complement is about; the slice itself if it is no complement."""
        rest = self._complemented(name)
        return name if rest is None else self.base_slice(rest)

    def _complemented(self, name: str) -> str | None:
        """The slice that a name is the complement of; a slice that has this name itself takes precedence."""
        stored = name in self.subsets or name.partition("=")[0] in self.group_columns or self.slices_of(name) != (name,)
        return None if stored else self.class_space.complemented(name)

    def _decidable(self, name: str) -> BoolArray:
        """Shape (n,): the examples of which it is known whether they belong to a slice."""
        base = self.base_slice(name)
        if base in self.subsets:
            return np.ones(len(self), dtype=bool)
        values = self.group_columns.get(base.partition("=")[0])
        return self.labeled if values is None else np.array([value != "" for value in values], dtype=bool)

    def _own_slice(self, name: str) -> BoolArray:
        """Shape (n,): the examples of a slice that is not written as a complement."""
        if name in self.subsets:
            return self.subsets[name]
        column, equals, value = name.partition("=")
        if equals:
            return self._group_is(column, value)
        if (several := self.slices_of(name)) != (name,):
            what = "a group column" if name in self.group_columns else "a set of slices"
            raise InputError(f"{name!r} is {what}: give one of its slices, such as {several[0]}")
        try:
            chosen = self.class_space.group(name)
        except UnknownName:
            slices = [*self.group_columns, *self.subsets, *self.class_space.groups, *self.class_space.ids]
            raise UnknownName(f"slice of {self.name}", name, slices) from None
        members = np.zeros(len(self.class_space) + 1, dtype=bool)  # the last entry is for unlabeled examples (-1)
        members[chosen] = True
        return members[self.labels]

    def _group_is(self, column: str, value: str) -> BoolArray:
        if column not in self.group_columns:
            raise UnknownName(f"group column of {self.name}", column, self.group_columns)
        values = self.group_columns[column]
        inside = np.array([own == value for own in values], dtype=bool)
        if not inside.any():
            raise UnknownName(f"{column} of {self.name}", value, sorted(set(values)))
        return inside


def _all_differ(ids: Sequence[str]) -> bool:
    """Whether all ids are different; comparing hashes first takes less memory than a set."""
    hashes = np.fromiter(map(hash, ids), np.int64, len(ids))
    hashes.sort()
    return bool((hashes[1:] != hashes[:-1]).all()) or len(set(ids)) == len(ids)


@dataclass(frozen=True, eq=False, repr=False)
class PackedTexts(Sequence[str]):
    """A sequence of strings, equal to a tuple of them: concatenated in UTF-8, string i starts at ``bounds[i]``.

    A string takes 8 bytes more than its length, while a Python string takes about 60 bytes more.

    >>> PackedTexts.of(["cat", "dog", "käfer"])[1:]
    PackedTexts.of(('dog', 'käfer'))
    """

    data: bytes
    bounds: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Iterable[str]) -> PackedTexts:
        """Pack strings."""
        encoded = [text.encode() for text in texts]
        return cls(b"".join(encoded), np.array([0, *accumulate(map(len, encoded))], dtype=np.int64))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> PackedTexts: ...
    def __getitem__(self, index: int | slice) -> str | PackedTexts:
        if isinstance(index, slice):
            return self._part(range(len(self))[index])
        position = range(len(self))[index]
        return self.data[self.bounds.item(position) : self.bounds.item(position + 1)].decode()

    def __iter__(self) -> Iterator[str]:
        for begin in range(0, len(self), _DECODED):
            for start, stop in pairwise(self.bounds[begin : begin + _DECODED + 1].tolist()):
                yield self.data[start:stop].decode()

    def __eq__(self, value: object) -> bool:
        if isinstance(value, PackedTexts):
            return self.data == value.data and np.array_equal(self.bounds, value.bounds)
        if isinstance(value, tuple):
            return len(self) == len(value) and all(own == text for own, text in zip(self, value, strict=True))
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"PackedTexts.of({tuple(self)!r})"

    def _part(self, positions: range) -> PackedTexts:
        if positions.step != 1:
            return PackedTexts.of(self[position] for position in positions)
        bounds = self.bounds[positions.start : positions.start + len(positions) + 1]
        return PackedTexts(self.data[bounds[0] : bounds[-1]], bounds - bounds[0])
