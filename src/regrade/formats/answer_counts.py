"""Reading how many people chose each class of an image, as in CIFAR-10H, or the entropy of their answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from regrade.core import FormatError, InputError, TestSet
from regrade.core.arrays import FloatArray, IntArray
from regrade.metrics import human_entropies
from regrade.tables import Columns, ExamplePositions, column_named, errors_with_path, number_array, read_table, texts

_ENTROPY_COLUMN = "entropy"


def read_human_entropies(path: Path, test_set: TestSet) -> FloatArray:
    """Shape (n,): the entropy in bits of people's answers to each image, NaN for images without one.

    The table has a column of image ids, and either a column ``entropy`` or a column of counts for each class, named by
    its id or display name; classes without a column were never chosen. Images that are not in the test set raise.
    """
    table = read_table(path)
    with errors_with_path(path):
        places = ExamplePositions(test_set).of_all(texts(table, Columns().id_in(table)), path)
        return _placed(_entropies(table, test_set), places, test_set)


def _entropies(table: pa.Table, test_set: TestSet) -> FloatArray:
    """Shape (rows,): from the column of entropies, or from the columns of classes."""
    entropy = column_named(table, _ENTROPY_COLUMN)
    if entropy is not None:
        values = _numbers(table, entropy)
        if (values < 0).any():
            raise InputError("an entropy is negative")
        return values
    space = test_set.class_space
    classes = {name.casefold() for name in (*space.ids, *space.names)}
    columns = [name for name in table.column_names if name.casefold() in classes]
    if len(columns) < 2:
        raise FormatError(
            f"expected a column entropy, or columns with the number of answers for each class of {space.name}, such as "
            f"{space.ids[0]!r}; the columns are {', '.join(table.column_names[:8])}"
        )
    return human_entropies(np.nan_to_num(np.stack([_numbers(table, name) for name in columns], axis=1)))


def _numbers(table: pa.Table, name: str) -> FloatArray:
    """Shape (rows,): the numbers of a column, NaN for empty cells."""
    try:
        return number_array(table[name].cast(pa.float64()).fill_null(np.nan))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise FormatError(f"column {name!r} contains something else than numbers") from None


def _placed(values: FloatArray, places: IntArray, test_set: TestSet) -> FloatArray:
    if len(np.unique(places)) < len(places):
        twice = int(np.flatnonzero(np.bincount(places) > 1)[0])
        raise FormatError(f"image {test_set.ids[twice]!r} occurs more than once")
    placed = np.full(len(test_set), np.nan)
    placed[places] = values
    return placed
