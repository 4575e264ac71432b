"""A slice set as a Parquet file: for each example, whether it is in each slice, and its values of group columns."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from regrade.core import InputError, MismatchError, SliceSet, TestSet
from regrade.store.layout import place_of_slices
from regrade.store.metadata import PLACE
from regrade.store.parquet import read_parquet, write_parquet
from regrade.tables import number_array, shared_column, text_array

_SLICE = "slice:"
_GROUP = "group:"


def write_slice_set(slices: SliceSet, test_set: TestSet, file: BinaryIO) -> None:
    """Write one row per example."""
    columns = {
        "example": text_array(test_set.ids),
        **{_SLICE + name: pa.array(inside, type=pa.bool_()) for name, inside in slices.subsets.items()},
        **{_GROUP + name: pa.array(values, type=pa.string()) for name, values in slices.columns.items()},
    }
    meta = {
        PLACE: place_of_slices(test_set.name, slices.name),
        "name": slices.name,
        "test_set": test_set.name,
        "test_set_digest": test_set.digest,
        "origin": slices.origin,
        "chosen_hard": slices.chosen_hard,
        "digest": slices.digest,
    }
    write_parquet(pa.table(columns), meta, file)


def read_slice_set(path: Path, test_set: TestSet) -> SliceSet:
    """Read a slice set; raise if it was made for another version of the test set."""
    table, meta = read_parquet(path)
    if meta["test_set_digest"] != test_set.digest:
        raise MismatchError(f"{path} was made for another version of test set {test_set.name!r}")
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
