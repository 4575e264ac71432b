"""Test sets, their slice sets and the locations of their images as Parquet files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from regrade.core import (
    UNLABELED,
    ClassSpace,
    FormatError,
    ImageSource,
    InputError,
    Orientation,
    SliceSet,
    TestSet,
    UnknownName,
)
from regrade.core.arrays import IntArray
from regrade.core.names import check_distinct_names
from regrade.store.checked_files import PLACE, read_parquet, write_parquet
from regrade.store.class_spaces import ClassSpaceCollection
from regrade.store.collection import Collection, check_test_set
from regrade.store.layout import place_of
from regrade.store.transaction import Transaction
from regrade.tables import number_array, number_column, packed_column, shared_column, text_array

_GROUP = "group:"
_SLICE = "slice:"


class TestSetCollection(Collection[TestSet, None]):
    """The test sets of a workspace, without the slice sets that were added to them."""

    kind = "testsets"
    part_of_others = True

    def __init__(self, root: Path, class_spaces: ClassSpaceCollection) -> None:
        super().__init__(root)
        self._class_spaces = class_spaces

    def names_of(self, test_set: TestSet, _context: None) -> tuple[str, ...]:
        """The name of a test set."""
        return (test_set.name,)

    def refusal(self, test_set: TestSet, _context: None) -> str:
        """The error for another test set of the same name."""
        return f"test set {test_set.name!r} is stored with other examples, labels or groups: choose another name"

    def put(self, change: Transaction, test_set: TestSet, _context: None) -> None:
        """Stage a test set and its class space; raise if its name is too similar to another."""
        check_distinct_names("test set", [test_set.name], self.names())
        self._class_spaces.place(change, test_set.class_space, None)
        super().put(change, test_set, _context)

    def write(self, test_set: TestSet, _context: None, file: BinaryIO) -> None:
        """Write the examples, with the name, class space and digest of the test set as metadata."""
        class_ids = text_array(test_set.class_space.ids)
        labels = number_column(test_set.labels.astype(np.int32))
        if not test_set.labeled.all():
            labels = pc.if_else(pa.array(test_set.labeled), labels, None)
        columns = {
            "example": text_array(test_set.ids),
            "label": class_ids.take(labels),
            **{_GROUP + name: pa.array(values, type=pa.string()) for name, values in test_set.groups.items()},
        }
        meta = {
            PLACE: place_of(self.kind, test_set.name),
            "test_set": test_set.name,
            "class_space": test_set.class_space.name,
            "class_space_digest": test_set.class_space.digest,
            "digest": test_set.digest,
        }
        write_parquet(pa.table(columns), meta, file)

    def read(self, name: str) -> TestSet:
        """Read a test set; raise if it was stored with another class space."""
        path = self.path(name)
        if not path.is_file():
            self.refuse_lost(name)
            raise UnknownName("test set", name, self.names(), first=f"regrade testsets add {name} PATH")
        table, meta = read_parquet(path)
        space = self._class_spaces.read(meta["class_space"])
        if meta["class_space_digest"] != space.digest:
            raise FormatError(f"{path} was stored with other classes than the present {space.name!r}")
        return TestSet(
            meta["test_set"],
            space,
            packed_column(table["example"]),
            _labels(table["label"], space),
            {
                name.removeprefix(_GROUP): shared_column(table[name])
                for name in table.column_names
                if name.startswith(_GROUP)
            },
        )


def _labels(column: pa.ChunkedArray, space: ClassSpace) -> IntArray:
    """Shape (n,): the class indices of a column of class ids; `UNLABELED` for empty cells."""
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    indices = [space.index_of.get(class_id, UNLABELED) for class_id in encoded.dictionary.to_pylist()]
    return np.array(indices, dtype=np.int32)[number_array(encoded.indices)]


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
            "chosen_by": slices.chosen_by,
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
            tuple(meta.get("chosen_by", ())),
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


def has_no_root(source: ImageSource) -> bool:
    """Whether the folder or file of images is missing."""
    return not source.path.exists()


class ImageSourceCollection(Collection[ImageSource, TestSet]):
    """Where the images of test sets are.

    Other locations are refused, unless ``is_missing`` says that the images at the stored ones are gone.
    """

    kind = "images"

    def __init__(self, root: Path, is_missing: Callable[[ImageSource], bool] = has_no_root) -> None:
        super().__init__(root)
        self._is_missing = is_missing

    def names_of(self, _source: ImageSource, test_set: TestSet) -> tuple[str, ...]:
        """The name of the test set."""
        return (test_set.name,)

    def refusal(self, source: ImageSource, test_set: TestSet) -> str:
        """The error for other locations of the same test set."""
        return (
            f"the images of {test_set.name} are registered at {self.read(test_set).path}, which exists: remove "
            f"{self.path(test_set.name)} to read them from {self._inside(source).path} instead"
        )

    def put(self, change: Transaction, source: ImageSource, test_set: TestSet) -> None:
        """Stage the locations in place of the stored ones."""
        change.replace_at(self.path(test_set.name), lambda file: self.write(source, test_set, file))

    def write(self, source: ImageSource, test_set: TestSet, file: BinaryIO) -> None:
        """Write the location of each example's image, with reader, root and reading options as metadata."""
        source = self._inside(source)
        table = pa.table({"example": text_array(test_set.ids), "location": text_array(source.locations)})
        meta = {
            PLACE: place_of(self.kind, test_set.name),
            "test_set": test_set.name,
            "test_set_digest": test_set.digest,
            "reader": source.reader,
            "root": source.root,
            "orientation": source.orientation.value,
            "border": source.border,
        }
        write_parquet(table, meta, file)

    def is_same(self, source: ImageSource, test_set: TestSet) -> bool:
        """Whether the stored locations and reading options are the same."""
        return self.read(test_set) == self._inside(source)

    def may_replace(self, _source: ImageSource, test_set: TestSet) -> bool:
        """Whether the images at the stored locations are gone."""
        return self._is_missing(self.read(test_set))

    def read(self, test_set: TestSet) -> ImageSource:
        """Read the locations; raise if there are none, or if they were stored for another version of the test set."""
        self.check(test_set)
        path = self.path(test_set.name)
        table, meta = read_parquet(path, ["location"])
        check_test_set(path, meta["test_set_digest"], test_set)
        return ImageSource(
            meta["reader"],
            meta["root"],
            packed_column(table["location"]),
            Orientation(meta["orientation"]),
            int(meta["border"]),
            str(self.root.resolve()),
        )

    def check(self, test_set: TestSet) -> None:
        """Raise if a test set has no images, with the command that adds them."""
        if not self.has(test_set.name):
            raise InputError(f"test set {test_set.name} has no images: regrade testsets add {test_set.name} PATH")

    def _inside(self, source: ImageSource) -> ImageSource:
        """The source with a root relative to the workspace if it is inside, so that the workspace can be moved."""
        base = self.root.resolve()
        path = base / source.path
        root = path.relative_to(base).as_posix() if path.is_relative_to(base) else str(path)
        return replace(source, root=root, base=str(base))
