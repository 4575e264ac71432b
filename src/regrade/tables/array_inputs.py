"""Arrays of other libraries as numpy arrays: lists, numpy, torch, pandas and Arrow objects, with their row index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from regrade.core import InputError, MismatchError

_TORCH_NUMPY = ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool")


@dataclass(frozen=True, eq=False)
class ArrayInput:
    """The values (n,) or (n, c) of an array that a user gave under ``name``.

    ``index`` is the row index of a pandas object and ``columns`` are the column names of a table; None for others.
    """

    name: str
    values: NDArray[Any]
    index: Any = None
    columns: tuple[Any, ...] | None = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the rows: the row index if it has no repeated text, else row numbers."""
        texts = () if self.index is None else tuple(map(str, self.index))
        return texts if len(set(texts)) == len(self) else tuple(map(str, range(len(self))))

    def check_rows(self, labels: ArrayInput) -> None:
        """Raise unless this array has the rows of ``labels`` in the same order, as far as lengths and indices tell."""
        if len(self) != len(labels):
            raise MismatchError(f"{self.name} has {len(self):,} rows, {labels.name} has {len(labels):,}")
        if self.index is None or labels.index is None or self.index.equals(labels.index):
            return
        row = next(row for row, pair in enumerate(zip(self.index, labels.index, strict=True)) if pair[0] != pair[1])
        raise MismatchError(
            f"the index of {self.name} differs from that of {labels.name} in row {row + 1}: {self.index[row]!r} "
            f"instead of {labels.index[row]!r}; reorder it with .loc, or give .to_numpy() if the rows are in the same "
            "order"
        )


def array_input(values: Any, *, name: str) -> ArrayInput:
    """A list, numpy array, torch tensor, pandas object or Arrow object as an array with its row index.

    Tensors may be on any device and require gradients; bfloat16 and 8-bit floats become float32, which holds their
    values exactly. Text, files and scalars raise, and so do missing values of Arrow.

    >>> array_input([3, 1, 2], name="y_true").values
    array([3, 1, 2])
    """
    if isinstance(values, str | bytes) or np.isscalar(values) or values is None:
        raise InputError(f"{name} is {type(values).__name__}: expected an array, a list, a tensor or a data frame")
    if _is_pandas(values):
        columns = tuple(values.columns) if values.ndim == 2 else None
        return ArrayInput(name, _numpy(values.to_numpy(), name), values.index, columns)
    if isinstance(values, pa.Table):
        columns = tuple(values.column_names)
        arrays = [_arrow_values(values[column], f"{name}, column {column!r}") for column in columns]
        return ArrayInput(name, np.stack(arrays, axis=1), None, columns)
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return ArrayInput(name, _arrow_values(values, name))
    return ArrayInput(name, _numpy(values, name))


def class_lists(values: Any, *, name: str) -> ArrayInput | None:
    """Lists or sets of classes per row, as an array (n,) of tuples; None if the rows are single classes."""
    index = values.index if _is_pandas(values) else None
    rows = values.to_pylist() if isinstance(values, pa.Array | pa.ChunkedArray) else values
    if not isinstance(rows, Sequence) and (index is None or values.ndim != 1 or values.dtype != object):
        return None
    if not len(rows) or isinstance(rows, str) or not any(isinstance(row, _SEVERAL) for row in rows):
        return None
    listed = np.empty(len(rows), dtype=object)
    for place, row in enumerate(rows):
        if not isinstance(row, _SEVERAL):
            raise InputError(
                f"{name}, row {place + 1}: {row!r} is not a list, but other rows are: give a list in every row"
            )
        listed[place] = tuple(row.tolist() if isinstance(row, np.ndarray) else row)
    return ArrayInput(name, listed, index)


_SEVERAL = (list, tuple, set, frozenset, np.ndarray)


def _is_pandas(values: Any) -> bool:
    return hasattr(values, "iloc") and hasattr(values, "to_numpy")


def _is_tensor(values: Any) -> bool:
    return hasattr(values, "detach") and hasattr(values, "cpu")


def _numpy(values: Any, name: str) -> NDArray[Any]:
    if _is_tensor(values):
        return _tensor_values(values)
    if isinstance(values, Sequence) and len(values) and _is_tensor(values[0]):
        return np.stack([_tensor_values(row) for row in values])
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(f"{name} has rows of different lengths: expected (n,) or (n, c)") from None
    if not array.ndim:
        raise InputError(f"{name} is {type(values).__name__}: expected an array, a list, a tensor or a data frame")
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8")
    if array.dtype.kind in "OU" and array.ndim == 1:
        _check_texts(values if isinstance(values, Sequence) else array, name)
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


def _check_texts(values: Iterable[Any], name: str) -> None:
    """Raise if the values are neither all text nor all numbers: numpy would turn 3 and None into text."""
    kinds: set[bool] = set()
    for row, value in enumerate(values):
        is_text = isinstance(value, str)
        if not is_text and not (isinstance(value, int | float | np.number) and np.isfinite(value)):
            raise InputError(f"{name}, row {row + 1}: {value!r} is not a class")
        if len(kinds := kinds | {is_text}) > 1:
            raise InputError(
                f"{name}, row {row + 1}: {value!r} follows classes of another type: use names or numbers only"
            )


def _tensor_values(tensor: Any) -> NDArray[Any]:
    copied = tensor.detach().cpu()
    if str(copied.dtype).removeprefix("torch.") not in _TORCH_NUMPY:
        copied = copied.float()
    array: NDArray[Any] = copied.numpy()
    return array


def _arrow_values(column: pa.Array | pa.ChunkedArray, name: str) -> NDArray[Any]:
    """The values of a column; lists of equal length become rows of a matrix."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(whole, pa.ChunkedArray):  # a column without rows has no chunk
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], whole.type)
    if whole.null_count:
        raise InputError(f"{name} has {whole.null_count:,} missing values: every row needs one")
    if pa.types.is_dictionary(whole.type):
        whole = whole.dictionary_decode()
    if pa.types.is_nested(whole.type):
        return _numpy(whole.to_pylist(), name)
    return np.asarray(whole.to_numpy(zero_copy_only=False))


def distinct_values(arrays: Iterable[NDArray[Any]]) -> set[Any]:
    """The distinct values of several arrays, as Python values."""
    return {value for array in arrays for value in set(array.ravel().tolist())}
