"""Columns of numbers, text and classes as arrays, and notes on the columns that are not used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from enum import Enum
from reprlib import repr as brief
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from regrade.core import ClassSpace, FormatError, InputError, PackedTexts, UnknownName
from regrade.core.amounts import amount
from regrade.core.arrays import IntArray
from regrade.core.names import near_miss
from regrade.tables.files import is_list, is_text

_SHOWN = 12


def number_array(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """The numbers or booleans of a column; empty cells raise.

    The result is that of pyarrow's ``to_numpy``, which imports pandas if it is installed and so takes longer.
    """
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if whole.null_count:
        raise FormatError(f"{whole.null_count:,} of {len(whole):,} cells are empty in a column of numbers")
    if pa.types.is_boolean(whole.type):
        return np.from_dlpack(whole.cast(pa.uint8())).astype(bool)
    return np.from_dlpack(whole)


def number_column(numbers: NDArray[Any]) -> pa.Array:
    """Numbers (no booleans) as an Arrow array, without importing pandas as ``pa.array`` does if it is installed."""
    whole = np.ascontiguousarray(numbers)
    return pa.Array.from_buffers(pa.from_numpy_dtype(whole.dtype), len(whole), [None, pa.py_buffer(whole)])


def packed_column(column: pa.ChunkedArray) -> PackedTexts:
    """The strings of a column without empty cells, packed in one buffer."""
    bounds = np.zeros(len(column) + 1, dtype=np.int64)
    np.cumsum(number_array(pc.binary_length(column)), out=bounds[1:])
    return PackedTexts(b"".join(_data(chunk) for chunk in column.chunks), bounds)


def shared_column(column: pa.ChunkedArray) -> tuple[str, ...]:
    """The strings of a column with many equal values; equal strings share one object."""
    encoded = column.combine_chunks().dictionary_encode()
    values = encoded.dictionary.to_pylist()
    return tuple(values[index] for index in number_array(encoded.indices))


def text_array(texts: Sequence[str]) -> pa.Array:
    """Strings as an Arrow array, without importing pandas as ``pa.array`` does if it is installed."""
    packed = texts if isinstance(texts, PackedTexts) else PackedTexts.of(texts)
    bounds, data = pa.py_buffer(packed.bounds), pa.py_buffer(packed.data)
    return pa.LargeStringArray.from_buffers(len(packed), bounds, data).cast(pa.string())


def _data(chunk: pa.StringArray) -> pa.Buffer | bytes:
    """The concatenated bytes of all strings of a chunk."""
    _, bounds, data = chunk.buffers()
    if not len(chunk) or data is None:
        return b""
    first, last = np.frombuffer(bounds, dtype=np.int32)[[chunk.offset, chunk.offset + len(chunk)]]
    return data.slice(first, last - first)


class Reading(Enum):
    """Whether integers in a column of classes are class ids or class indices."""

    AUTO = "auto"
    IDS = "ids"
    INDICES = "indices"


class ClassEncoding(Enum):
    """How a column states classes."""

    INDICES = "indices"
    IDS = "ids"
    NAMES = "names"


def class_encoding(column: pa.ChunkedArray, space: ClassSpace, *, reading: Reading) -> ClassEncoding:
    """How a column with one class per row, or a list of them, states classes that `class_indices` can read."""
    values, _ = _flattened(column.combine_chunks(), space, "")
    if not is_text(values.type):
        return ClassEncoding.IDS if reading is Reading.IDS else ClassEncoding.INDICES
    if reading is Reading.INDICES or (reading is Reading.AUTO and _numbers_for_other_ids(values, space)):
        return ClassEncoding.INDICES
    all_ids = pc.all(pc.is_in(values, value_set=text_array(space.ids).cast(values.type))).as_py()
    return ClassEncoding.IDS if all_ids else ClassEncoding.NAMES


def class_indices(column: pa.ChunkedArray, space: ClassSpace, *, name: str, reading: Reading) -> IntArray:
    """Shape (n, k): the classes of a column with one class per row, or a list of k.

    Text is read as class ids, or else as names of classes (`ClassSpace.resolve`); text such as ``3 17 4`` or ``a;b;c``
    as a list of them. Integers are indices, unless the class ids of the class space are numbers that differ from their
    index: then ``reading`` must say which they are. An unknown class, an index out of range or an empty cell raises.
    """
    values, k = _flattened(column.combine_chunks(), space, name)
    if values.null_count:
        row = int(np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False))[0]) // k
        raise FormatError(f"column {name!r}, row {row + 1}: the cell is empty")
    return _resolved(values, space, name, k, reading).reshape(-1, k).astype(np.int32)


def one_class_per_row(column: pa.ChunkedArray, space: ClassSpace, *, name: str, reading: Reading) -> IntArray:
    """Shape (n,): like `class_indices`, for a column with one class per row; lists raise."""
    indices = class_indices(column, space, name=name, reading=reading)
    if indices.shape[1] > 1:
        raise FormatError(f"column {name!r} lists several classes per row: expected one")
    return indices[:, 0]


def class_index(reference: Any, space: ClassSpace, *, reading: Reading) -> int:
    """The index of a class in JSON: text is a class id, an integer is an index or, depending on ``reading``, an id."""
    if isinstance(reference, str):
        return space.resolve(reference)
    if not isinstance(reference, int) or isinstance(reference, bool):
        raise FormatError(f"{brief(reference)} is not a class id or class index of {space.name}")
    if reading is Reading.IDS:
        return space.index(str(reference))
    if reading is Reading.AUTO:
        _refuse_ambiguous(space, "classes")
    if not 0 <= reference < len(space):
        raise InputError(space.outside(brief(reference)))
    return reference


def _flattened(values: pa.Array, space: ClassSpace, name: str) -> tuple[pa.Array, int]:
    if is_text(values.type) and (separator := _separator(values, space)):
        values = pc.split_pattern(pc.utf8_trim_whitespace(values), separator)
    if not is_list(values.type):
        return values, 1
    lengths = pc.list_value_length(values)
    if lengths.null_count or pc.min(lengths).as_py() != (k := pc.max(lengths).as_py()):
        raise FormatError(f"column {name!r}: every row must list the same number of classes")
    if k == 0:
        raise FormatError(f"column {name!r}: the lists of classes are empty")
    return pc.list_flatten(values), k


def _resolved(values: pa.Array, space: ClassSpace, name: str, k: int, reading: Reading) -> IntArray:
    if pa.types.is_floating(values.type):
        values = _whole(values, space, name, k)
    if pa.types.is_integer(values.type):
        if reading is Reading.IDS:
            return _by_id(values.cast(pa.string()), space, name, k)
        if reading is Reading.AUTO:
            _refuse_ambiguous(space, name)
        return _in_range(number_array(values), space, name, k).astype(np.int64)
    if not is_text(values.type):
        raise FormatError(f"column {name!r} contains {values.type}, not class ids or indices")
    if reading is Reading.INDICES or (reading is Reading.AUTO and _numbers_for_other_ids(values, space)):
        return _in_range(_parsed(values, space, name, k), space, name, k)
    return _by_id(values, space, name, k)


def _by_id(values: pa.Array, space: ClassSpace, name: str, k: int) -> IntArray:
    """Class indices by id, and text that is not an id by the names of classes."""
    indices = pc.index_in(values, value_set=text_array(space.ids).cast(values.type))
    if not indices.null_count:
        return number_array(indices)
    places = np.flatnonzero(indices.is_null().to_numpy(zero_copy_only=False))
    texts = [str(text) for text in values.take(pa.array(places)).to_pylist()]
    resolved = number_array(pc.fill_null(indices, 0)).copy()
    try:
        class_of = space.resolve_all(texts)
    except InputError as error:
        place = next(place for place, text in zip(places, texts, strict=True) if repr(text) in str(error))
        raise InputError(f"column {name!r}, row {place // k + 1}: {error}") from None
    resolved[places] = [class_of[text] for text in texts]
    return resolved


def _in_range(indices: IntArray, space: ClassSpace, name: str, k: int) -> IntArray:
    outside = np.flatnonzero((indices < 0) | (indices >= len(space)))
    if outside.size:
        raise InputError(f"column {name!r}, row {outside[0] // k + 1}: {space.outside(indices[outside[0]])}")
    return indices


def _whole(values: pa.Array, space: ClassSpace, name: str, k: int) -> pa.Array:
    numbers = values.to_numpy(zero_copy_only=False)
    fractions = np.flatnonzero(~(np.isfinite(numbers) & (numbers == np.floor(numbers))))
    if fractions.size:
        place = fractions[0]
        raise FormatError(f"column {name!r}, row {place // k + 1}: {numbers[place]:g} is not a class id or class index")
    try:
        return values.cast(pa.int64())
    except pa.ArrowInvalid:  # larger than a 64-bit integer
        place = int(np.abs(numbers).argmax())
        raise InputError(
            f"column {name!r}, row {place // k + 1}: class {numbers[place]:.0f} is outside {space.name} "
            f"(0 to {len(space) - 1})"
        ) from None


def _parsed(values: pa.Array, space: ClassSpace, name: str, k: int) -> IntArray:
    try:
        numbers = values.cast(pa.float64())
    except pa.ArrowInvalid:
        raise FormatError(f"column {name!r} contains text that is not a class index") from None
    return np.asarray(_whole(numbers, space, name, k).to_numpy(zero_copy_only=False))


def _refuse_ambiguous(space: ClassSpace, name: str) -> None:
    numeric = all(class_id.isdigit() for class_id in space.ids)
    if numeric and any(int(class_id) != index for index, class_id in enumerate(space.ids)):
        raise InputError(
            f"column {name!r} contains numbers, which could be ids or indices of {space.name}: "
            "give --class-numbers ids or --class-numbers indices"
        )


def _numbers_for_other_ids(values: pa.Array, space: ClassSpace) -> bool:
    """Whether text such as "17" or "17.0" is an index, since no class id is a number."""
    return str(values[0].as_py()).removesuffix(".0").isdigit() and not any(class_id.isdigit() for class_id in space.ids)


def _separator(values: pa.Array, space: ClassSpace) -> str | None:
    first = str(values[0].as_py()).strip()
    if first in space.index_of or _has_name(first, space):
        return None
    marks = [mark for mark in (";", "|", " ") if mark in first]
    return next((mark for mark in marks if any(_is_class(part, space, mark) for part in first.split(mark))), None)


def _is_class(text: str, space: ClassSpace, mark: str) -> bool:
    if text in space.index_of or text.removesuffix(".0").isdigit():
        return True
    return mark != " " and _has_name(text, space)


def _has_name(text: str, space: ClassSpace) -> bool:
    try:
        space.resolve(text)
    except InputError:
        return False
    return True


def ignored_columns(table: pa.Table, used: Collection[str], *, optional: Iterable[str] = ()) -> tuple[str, ...]:
    """A note with the columns that were not used, if any; raise if one looks like a misspelled optional column.

    ``used`` are the names of the columns that were used, ``optional`` those that are used if the table has them.
    """
    return ignored_names(table.column_names, used, optional=optional, noun="column")


def ignored_names(
    names: Iterable[str], used: Collection[str], *, optional: Iterable[str] = (), noun: str, where: str = ""
) -> tuple[str, ...]:
    """Like `ignored_columns`, for other names, such as the keys of an object or the arrays of a file."""
    ignored = [name for name in names if name and name not in used]
    lacking = {name.casefold() for name in optional}.difference(name.casefold() for name in used)
    for name in ignored:
        if name not in lacking and (near := near_miss(name, sorted(lacking))):
            raise UnknownName(noun, name, [near], hint=f"{where} (rename it, or remove it if it is something else)")
    if not ignored:
        return ()
    more = f", ... ({len(ignored):,} in all)" if len(ignored) > _SHOWN else ""
    plural = "s" if len(ignored) > 1 else ""
    return (f"ignored the {noun}{plural} {', '.join(ignored[:_SHOWN])}{more}",)


def skipped_files(kinds: Iterable[str], *, expected: str) -> tuple[str, ...]:
    """A note with the number of skipped files by suffix, if any; ``kinds`` are the suffixes of the files.

    >>> skipped_files([".txt", ".txt", ""], expected="arrays")
    ('passed over 3 files that are not arrays: 2 .txt, 1 without a suffix',)
    """
    counts = Counter(kinds)
    if not counts:
        return ()
    by_kind = [
        f"{number:,} {ascii(kind)[1:-1] if kind else 'without a suffix'}" for kind, number in counts.most_common()
    ]
    more = ", ..." if len(by_kind) > _SHOWN else ""
    verb = "is" if counts.total() == 1 else "are"
    files = f"{amount(counts.total(), 'file')} that {verb} not {expected}"
    return (f"passed over {files}: {', '.join(by_kind[:_SHOWN])}{more}",)
