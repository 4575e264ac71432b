"""A test set as a Parquet file: example id, class id of the label, group columns."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from regrade.core import UNLABELED, ClassSpace, FormatError, TestSet
from regrade.core.arrays import IntArray
from regrade.store.layout import place_of_test_set
from regrade.store.metadata import PLACE
from regrade.store.parquet import read_meta, read_parquet, write_parquet
from regrade.tables import number_array, packed_column, shared_column, text_array

_GROUP = "group:"


def write_test_set(test_set: TestSet, file: BinaryIO) -> None:
    """Write the examples, with the name, class space and digest of the test set as metadata."""
    class_ids = pa.array(test_set.class_space.ids)
    labels = pa.array(test_set.labels, mask=~test_set.labeled)
    columns = {
        "example": text_array(test_set.ids),
        "label": class_ids.take(labels.cast(pa.int32())),
        **{_GROUP + name: pa.array(values, type=pa.string()) for name, values in test_set.groups.items()},
    }
    meta = {
        PLACE: place_of_test_set(test_set.name),
        "test_set": test_set.name,
        "class_space": test_set.class_space.name,
        "class_space_digest": test_set.class_space.digest,
        "digest": test_set.digest,
    }
    write_parquet(pa.table(columns), meta, file)


def stored_class_space(path: Path) -> str:
    """The name of the class space of a stored test set."""
    return str(read_meta(path)["class_space"])


def read_test_set(path: Path, space: ClassSpace) -> TestSet:
    """Read a test set; raise if it was stored with another class space."""
    table, meta = read_parquet(path)
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
