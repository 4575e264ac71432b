"""Reading tensors from files of `torch.save` without torch, and without running code that a file contains.

Such a file is a ZIP archive of a pickle and the bytes of its tensors. Of the pickle, only tensors, plain containers,
text and numbers are accepted, as by ``torch.load(..., weights_only=True)``.
"""

from __future__ import annotations

import io
import math
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regrade.core import FormatError
from regrade.tables.array_files import ArrayFile, array_in_memory
from regrade.tables.files import check_file

TORCH_SUFFIXES = (".pt", ".pth", ".ckpt", ".pkl", ".bin")
"""The extensions of files of `torch.save`."""

_STORAGES = {
    "FloatStorage": "<f4", "DoubleStorage": "<f8", "HalfStorage": "<f2", "BFloat16Storage": "<u2",
    "LongStorage": "<i8", "IntStorage": "<i4", "ShortStorage": "<i2", "CharStorage": "<i1", "ByteStorage": "<u1",
    "BoolStorage": "|b1",
}  # fmt: skip
_BFLOAT16 = "BFloat16Storage"
_RESAVE = "save its tensors again with torch.save"


def open_torch_arrays(path: Path) -> ArrayFile:
    """The tensors of a file by name: a tensor, a dictionary of tensors, or a list of either, one per batch.

    The batches of a list are joined. A single tensor has the empty name; the items of a tuple are named scores and
    labels if one has a score per class and the other an integer per row.
    """
    check_file(path)
    try:
        with zipfile.ZipFile(path) as archive:
            arrays, rest = _named_arrays(_unpickled(archive))
    except zipfile.BadZipFile:
        raise FormatError(f"{path} is not a file of torch.save since version 1.6: {_RESAVE}, or write NPZ") from None
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None
    except Exception as error:  # pickle and zipfile raise many kinds of errors on damaged files
        raise FormatError(
            f"{path} cannot be read as a file of torch.save: it is damaged, or has other content"
        ) from error
    if not arrays:
        raise FormatError(f"{path} contains no tensors: save scores, or a dictionary of tensors")
    return ArrayFile(path, {name: array_in_memory(array) for name, array in arrays.items()}, rest, arrays)


@dataclass(frozen=True)
class _Storage:
    """The name of a storage type, such as FloatStorage."""

    name: str


def _unpickled(archive: zipfile.ZipFile) -> Any:
    names = archive.namelist()
    pickled = next((name for name in names if name.endswith("/data.pkl")), None)
    if pickled is None:
        raise FormatError(f"is not a file of torch.save: {_RESAVE}")
    folder = pickled.removesuffix("data.pkl")
    if f"{folder}byteorder" in names and archive.read(f"{folder}byteorder") != b"little":
        raise FormatError(f"its numbers are big-endian: {_RESAVE} on a common machine")
    return _TensorUnpickler(archive, folder).load()


class _TensorUnpickler(pickle.Unpickler):
    """Unpickles tensors as arrays; any other object of Python raises."""

    def __init__(self, archive: zipfile.ZipFile, folder: str) -> None:
        super().__init__(io.BytesIO(archive.read(f"{folder}data.pkl")))
        self._archive, self._folder = archive, folder

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _tensor
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if module == "torch" and name in _STORAGES:
            return _Storage(name)
        if (module, name) == ("torch._utils", "_rebuild_parameter"):
            raise FormatError("contains the weights of a model, and no predictions: run the model, for instance with "
                              "regrade predict")  # fmt: skip
        raise FormatError(f"contains an object of {module}.{name}, which is never loaded: save tensors and text only")

    def persistent_load(self, reference: Any) -> NDArray[Any]:
        _, kind, key, _, count = reference
        if not isinstance(kind, _Storage):
            raise FormatError("contains tensors of an unknown type: convert them with .float() or .long()")
        values = np.frombuffer(self._archive.read(f"{self._folder}data/{key}"), _STORAGES[kind.name])
        if len(values) < count:
            raise FormatError("a tensor has fewer numbers than it declares: the file is truncated")
        return (values.astype("<u4") << 16).view("<f4") if kind.name == _BFLOAT16 else values


def _tensor(
    storage: NDArray[Any], offset: int, shape: Sequence[int], strides: Sequence[int], *_: object
) -> NDArray[Any]:
    """An array from a storage; sizes and strides are in numbers, and are checked."""
    last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    if math.prod(shape) and not (0 <= offset <= last < len(storage) and min((0, *strides)) == 0):
        raise FormatError("a tensor lies outside its storage: the file is damaged")
    if not math.prod(shape):
        return np.empty(tuple(shape), storage.dtype)
    places = [stride * storage.itemsize for stride in strides]
    return np.ascontiguousarray(np.lib.stride_tricks.as_strided(storage[offset:], tuple(shape), places))


def _named_arrays(content: Any) -> tuple[dict[str, NDArray[Any]], tuple[str, ...]]:
    """Arrays by name, and the names of what is not an array."""
    if isinstance(content, list) and content and not _is_plain_list(content):
        return _joined([_named_arrays(batch) for batch in content])
    if isinstance(content, tuple):
        return _of_tuple(content), ()
    entries = content if isinstance(content, Mapping) else {"": content}
    arrays = {str(name): array for name, value in entries.items() if (array := _array(value)) is not None}
    return arrays, tuple(str(name) for name in entries if str(name) not in arrays)


def _array(value: Any) -> NDArray[Any] | None:
    """A tensor, or a list of text, integers or tensors, as an array; None for other values."""
    if isinstance(value, np.ndarray):
        return value
    if not isinstance(value, (list, tuple)) or not value:
        return None
    if _is_plain_list(value):
        return np.array(value)
    if all(isinstance(item, np.ndarray) for item in value):
        return _concatenated(list(value))
    return None


def _is_plain_list(values: Sequence[Any]) -> bool:
    return all(isinstance(value, str) for value in values) or all(type(value) in (int, float) for value in values)


def _of_tuple(values: tuple[Any, ...]) -> dict[str, NDArray[Any]]:
    arrays = [array for value in values if (array := _array(value)) is not None]
    scores = [array for array in arrays if array.ndim == 2 and array.dtype.kind == "f"]
    labels = [array for array in arrays if array.ndim == 1 and array.dtype.kind in "iu"]
    if len(scores) != 1 or len(labels) > 1:
        raise FormatError(
            f"contains tuples of {len(values)} items without names: save a dictionary with scores and labels"
        )
    return {"scores": scores[0], **({"labels": labels[0]} if labels else {})}


def _joined(
    batches: list[tuple[dict[str, NDArray[Any]], tuple[str, ...]]],
) -> tuple[dict[str, NDArray[Any]], tuple[str, ...]]:
    names = batches[0][0].keys()
    if any(arrays.keys() != names for arrays, _ in batches):
        raise FormatError("the batches contain different tensors: save the same ones for each batch")
    rest = dict.fromkeys(name for _, names in batches for name in names)
    return {name: _concatenated([arrays[name] for arrays, _ in batches]) for name in names}, tuple(rest)


def _concatenated(batches: list[NDArray[Any]]) -> NDArray[Any]:
    if len({batch.shape[1:] for batch in batches}) > 1:
        raise FormatError("the batches have different shapes: save the same number of classes for each image")
    return np.stack(batches) if batches[0].ndim == 0 else np.concatenate(batches)
