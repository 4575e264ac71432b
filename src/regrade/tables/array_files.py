"""Reading users' NPY and NPZ files: headers are checked before memory is allocated."""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from regrade.core import FormatError
from regrade.tables.files import check_file, why_unreadable

ARRAY_SUFFIXES = (".npy", ".npz")
"""The extensions of array files."""

_MAGIC = b"\x93NUMPY"
_LENGTHS = {1: 2, 2: 4, 3: 4}  # size of the field with the header's length, by version of the format
_LONGEST_HEADER = 1 << 16
_ITEM = r"""['"](descr|fortran_order|shape)['"]: *(['"][^'"\\]*['"]|True|False|\([0-9L, ]*\))"""
_HEADER = re.compile(rf"\{{ *(?:{_ITEM} *,? *){{3}}\}}\s*")
_LARGEST_RATIO = 1100  # zlib compresses zeros 1,032 to 1: a larger ratio is a false claim
_REFUSED_KINDS = {
    "O": "pickled Python objects, which are never loaded",
    "V": "records of several fields",
    "c": "complex numbers",
    "M": "dates",
    "m": "time spans",
}


@dataclass(frozen=True)
class DeclaredArray:
    """The header of an array."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    columns_first: bool
    """Whether the content is in Fortran order."""
    start: int
    """The offset of the content."""

    @property
    def bytes(self) -> int:
        """The size of the content in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize


@dataclass(frozen=True)
class ArrayFile:
    """The arrays of a file by name; that of an NPY file has the empty name. Arrays are read by `load`.

    ``not_arrays`` are the members of an archive that are not arrays, ``loaded`` arrays that are in memory already.
    """

    path: Path
    declared: Mapping[str, DeclaredArray]
    not_arrays: tuple[str, ...] = ()
    loaded: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def first_of(self, names: tuple[str, ...]) -> str | None:
        """The first of these names that is the name of an array."""
        return next((name for name in names if name in self.declared), None)

    def check(self, name: str) -> None:
        """Raise if an array is not a plain array of numbers or strings."""
        _check_dtype(self.declared[name].dtype, f"array {name!r}" if name else "the array")

    def load(self, name: str) -> NDArray[Any]:
        """Read an array, in native byte order; raise if it is not a plain array of numbers or strings."""
        self.check(name)
        declared = self.declared[name]
        if name in self.loaded:
            return self.loaded[name]
        if 0 in declared.shape:
            return np.empty(declared.shape, declared.dtype.newbyteorder("="))
        try:
            array = _member(self.path, name, declared) if name else _mapped(self.path, declared)
        except Exception as error:  # zipfile, zlib and numpy raise many kinds of errors on damaged files
            raise _unreadable(self.path, error) from None
        return np.asarray(array, dtype=declared.dtype.newbyteorder("="))


def array_in_memory(array: NDArray[Any]) -> DeclaredArray:
    """The header that an array in memory would have."""
    return DeclaredArray(array.shape, array.dtype, columns_first=False, start=0)


def open_arrays(path: Path) -> ArrayFile:
    """Read the headers of an array file; raise if they do not match the size of the file."""
    check_file(path)
    try:
        return _open_archive(path) if _is_archive(path) else _open_single(path)
    except FormatError as error:
        raise FormatError(f"{path} {error}") from None
    except Exception as error:  # as above
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> FormatError:
    form = path.suffix[1:]
    return FormatError(f"{path} cannot be read as {form.lower()}: {why_unreadable(error, form.upper())}")


def _is_archive(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"PK"


def _open_single(path: Path) -> ArrayFile:
    with path.open("rb") as file:
        array = _header(file)
        _check_size(array, path.stat().st_size - file.tell())
    return ArrayFile(path, {"": array})


def _open_archive(path: Path) -> ArrayFile:
    declared: dict[str, DeclaredArray] = {}
    not_arrays = []
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            if name == member.filename:
                not_arrays.append(name)
                continue
            if not name or name in declared:
                raise FormatError(f"has the array {name!r} twice" if name else "has an array without a name")
            declared[name] = _declared_member(archive, member)
    if not declared:
        raise FormatError("contains no arrays")
    return ArrayFile(path, declared, tuple(not_arrays))


def _declared_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> DeclaredArray:
    if member.file_size > member.compress_size * _LARGEST_RATIO:
        raise FormatError(f"declares more content for {member.filename!r} than it can contain")
    with archive.open(member) as file:
        array = _header(file)
        _check_size(array, member.file_size - file.tell())
    return array


def _header(file: IO[bytes]) -> DeclaredArray:
    """Parse a header with a regular expression: numpy evaluates headers, which may warn or be slow."""
    lead = file.read(len(_MAGIC) + 2)
    if not lead.startswith(_MAGIC) or (version := lead[-2]) not in _LENGTHS:
        raise FormatError("cannot be read as npy: it does not start like an NPY file")
    length = int.from_bytes(file.read(_LENGTHS[version]), "little")
    text = file.read(min(length, _LONGEST_HEADER)).decode("latin-1")
    items = dict(re.findall(_ITEM, text))
    if _HEADER.fullmatch(text) is None or len(items) != 3:
        records = " (it seems to contain records of several fields)" if "[" in text else ""
        raise FormatError(f"cannot be read as npy: its header is not valid{records}")
    shape = tuple(int(size.rstrip("L")) for size in items["shape"].strip("()").replace(" ", "").split(",") if size)
    dtype = _dtype(items["descr"].strip("'\""))
    return DeclaredArray(shape, dtype, items["fortran_order"] == "True", file.tell())


def _dtype(name: str) -> np.dtype[Any]:
    try:
        return np.dtype(name)
    except TypeError:
        raise FormatError(f"cannot be read as npy: its header states an unknown type, {name!r}") from None


def _check_size(array: DeclaredArray, size: int) -> None:
    if not array.dtype.hasobject and array.bytes != size:
        raise FormatError(
            f"declares {array.dtype} of shape {array.shape}, {array.bytes:,} bytes, and contains {size:,}: it is "
            "truncated, or has several arrays in one file"
        )


def _check_dtype(dtype: np.dtype[Any], what: str) -> None:
    if dtype.hasobject:
        raise FormatError(f"{what} contains {_REFUSED_KINDS['O']}: save numbers or strings")
    if dtype.kind in _REFUSED_KINDS:
        raise FormatError(f"{what} contains {_REFUSED_KINDS[dtype.kind]} ({dtype}): save numbers or strings")
    if dtype.kind == "f" and dtype.itemsize > np.dtype(np.float64).itemsize:
        raise FormatError(f"{what} contains {dtype}, which differs between machines: save it as float64")


def _mapped(path: Path, declared: DeclaredArray) -> NDArray[Any]:
    order: Literal["C", "F"] = "F" if declared.columns_first else "C"
    return np.memmap(path, declared.dtype, "r", declared.start, declared.shape, order)


def _member(path: Path, name: str, declared: DeclaredArray) -> NDArray[Any]:
    with zipfile.ZipFile(path) as archive:
        content = archive.read(f"{name}.npy")
    array = np.frombuffer(content, declared.dtype, offset=declared.start)
    return array.reshape(declared.shape, order="F" if declared.columns_first else "C")
