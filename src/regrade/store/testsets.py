"""Test sets as Parquet files: example id, class id of the label, group columns."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from regrade.core import UNLABELED, ClassSpace, FormatError, TestSet, UnknownName
from regrade.core.arrays import IntArray
from regrade.core.names import check_distinct_names
from regrade.store.class_spaces import ClassSpaceCollection
from regrade.store.collection import Collection
from regrade.store.layout import place_of
from regrade.store.metadata import PLACE
from regrade.store.parquet import read_parquet, write_parquet
from regrade.store.transaction import Transaction
from regrade.tables import number_array, packed_column, shared_column, text_array

_GROUP = "group:"


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
        class_ids = pa.array(test_set.class_space.ids)
        labels = pa.array(test_set.labels, mask=~test_set.labeled)
        columns = {
            "example": text_array(test_set.ids),
            "label": class_ids.take(labels.cast(pa.int32())),
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
