"""Slice sets as Parquet files: for each example, whether it is in each slice, and its values of group columns."""

from __future__ import annotations

from typing import BinaryIO

import pyarrow as pa

from regrade.core import InputError, SliceSet, TestSet
from regrade.store.collection import Collection, check_test_set
from regrade.store.layout import place_of
from regrade.store.metadata import PLACE
from regrade.store.parquet import read_parquet, write_parquet
from regrade.tables import number_array, shared_column, text_array

_SLICE = "slice:"
_GROUP = "group:"


class SliceSetCollection(Collection[SliceSet, TestSet]):
    """The slice sets of test sets."""

    kind = "slices"

    def names_of(self, slices: SliceSet, test_set: TestSet) -> tuple[str, ...]:
        """The names of the test set and of the slice set."""
        return test_set.name, slices.name

    def refusal(self, slices: SliceSet, test_set: TestSet) -> str:
        """The error for other slices of the same name."""
        return (
            f"other slices are stored as {slices.name} of {test_set.name}: choose another name, or remove "
            f"{self.path(test_set.name, slices.name)} first"
        )

    def write(self, slices: SliceSet, test_set: TestSet, file: BinaryIO) -> None:
        """Write one row per example."""
        columns = {
            "example": text_array(test_set.ids),
            **{_SLICE + name: pa.array(inside, type=pa.bool_()) for name, inside in slices.subsets.items()},
            **{_GROUP + name: pa.array(values, type=pa.string()) for name, values in slices.columns.items()},
        }
        meta = {
            PLACE: place_of(self.kind, test_set.name, slices.name),
            "name": slices.name,
            "test_set": test_set.name,
            "test_set_digest": test_set.digest,
            "origin": slices.origin,
            "chosen_hard": slices.chosen_hard,
            "digest": slices.digest,
        }
        write_parquet(pa.table(columns), meta, file)

    def is_same(self, slices: SliceSet, test_set: TestSet) -> bool:
        """Whether the stored slice set, which must be of the same version of the test set, is the same."""
        return self.read(test_set, slices.name).digest == slices.digest

    def read(self, test_set: TestSet, name: str) -> SliceSet:
        """Read a slice set; raise if it was made for another version of the test set."""
        path = self.path(test_set.name, name)
        table, meta = read_parquet(path)
        check_test_set(path, meta["test_set_digest"], test_set)
        named = {prefix: [c for c in table.column_names if c.startswith(prefix)] for prefix in (_SLICE, _GROUP)}
        return SliceSet(
            meta["name"],
            test_set.name,
            len(test_set),
            {name.removeprefix(_SLICE): number_array(table[name]) for name in named[_SLICE]},
            {name.removeprefix(_GROUP): shared_column(table[name]) for name in named[_GROUP]},
            meta["origin"],
            bool(meta.get("chosen_hard", False)),
        )

    def read_all(self, test_set: TestSet) -> tuple[SliceSet, ...]:
        """All slice sets of a test set by file name; lost ones are left out with a warning."""
        self.warn_of_lost(self.path(test_set.name, name) for name in self.lost_names(test_set.name))
        names = sorted(self.names(test_set.name), key=lambda name: self.path(test_set.name, name))
        return tuple(self.read(test_set, name) for name in names)


def check_slice_name(name: str, test_set: TestSet) -> None:
    """Raise if a name is not valid for slices or has another meaning for the test set."""
    if not name.strip():
        raise InputError("a slice set needs a name")
    for mark in ":=":
        if mark in name:
            raise InputError(f"the name {name!r} contains {mark}, which separates the parts of a slice's name")
    space = test_set.class_space
    for what, taken_names in (
        ("a group column", test_set.groups),
        ("a group of classes", space.groups),
        ("a class", space.index_of),
    ):
        if name in taken_names:
            raise InputError(f"{name!r} is {what} of {test_set.name} already: choose another --name")
