"""The registry of readers: built-in ones, and those of third parties from entry points."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import numpy as np

from regrade.core import (
    FileStamp,
    Images,
    ImageSource,
    InputError,
    RegradeError,
    StoredImage,
    UnknownName,
    UnreadableImage,
)
from regrade.tables import first_line
from regrade.testsets.arrays import ArrayReader, CifarReader
from regrade.testsets.corrupted_set import READER as CORRUPTED
from regrade.testsets.corrupted_set import CorruptedReader
from regrade.testsets.folder import FolderReader
from regrade.testsets.reader import Reader, ReaderOptions, ReaderResult
from regrade.testsets.table import ManifestReader, ParquetReader
from regrade.testsets.tar import TarReader

ENTRY_POINTS = "regrade.readers"
"""The entry-point group for readers of third parties."""

_IN_ORDER: tuple[Reader, ...] = (
    ArrayReader(), CifarReader(), ParquetReader(), ManifestReader(), TarReader(), FolderReader()
)  # fmt: skip
_BUILT_IN = {reader.name: reader for reader in _IN_ORDER}
_ARCHIVES = (".zip", ".gz", ".tgz", ".bz2", ".xz", ".zst", ".7z", ".rar")


def readers() -> dict[str, Reader]:
    """All readers by name; those of third parties come first, so that they can take precedence."""
    offered: dict[str, Reader] = {}
    for point in entry_points(group=ENTRY_POINTS):
        reader = load_reader(point)
        if reader.name in (*_BUILT_IN, CORRUPTED, *offered):
            raise InputError(
                f"the reader of entry point {point.name!r} ({ENTRY_POINTS}) has the name {reader.name!r}, which is "
                "already taken: uninstall it"
            )
        offered[reader.name] = reader
    return offered | _BUILT_IN


def reader_named(name: str) -> Reader:
    """Return a reader by name."""
    if name == CORRUPTED:
        return CorruptedReader(open_images)
    if name in _BUILT_IN:
        return _BUILT_IN[name]  # without loading readers of third parties
    available = readers()
    if name not in available:
        raise UnknownName("reader", name, available)
    return available[name]


def reader_for(path: Path) -> Reader:
    """Return the first reader that recognizes a path."""
    if not path.exists():
        raise InputError(f"there is no file or folder {path}")
    available = readers()
    for reader in available.values():
        if reader.recognizes(path):
            return reader
    unpack = ": unpack it first" if path.suffix.lower() in _ARCHIVES else ""
    raise InputError(f"no reader recognizes {path} ({', '.join(available)}){unpack}")


def open_images(source: ImageSource) -> Images:
    """Open the images of a source with its reader."""
    return reader_named(source.reader).open(source)


def load_reader(point: EntryPoint) -> Reader:
    """Load the reader of an entry point; every failure raises an error that names the entry point."""
    with _naming_entry_point(point.name):
        reader = point.load()()
        if not isinstance(reader, Reader) or not isinstance(getattr(reader, "name", None), str):
            raise TypeError("it is not a regrade.testsets.Reader with a name")
    return _Guarded(reader, point.name)


class _Guarded(Reader):
    """A reader of a third party; its failures raise errors of one line."""

    def __init__(self, reader: Reader, point: str) -> None:
        self.name = reader.name  # type: ignore[misc]
        self._reader = reader
        self._point = point

    def recognizes(self, path: Path) -> bool:
        with _naming_entry_point(self._point):
            return bool(self._reader.recognizes(path))

    def find(self, path: Path, options: ReaderOptions) -> ReaderResult:
        with _naming_entry_point(self._point):
            return _validated(self._reader.find(path, options))

    def open(self, source: ImageSource) -> Images:
        with _naming_entry_point(self._point):
            return _GuardedImages(self._reader.open(source), self._point)


@dataclass(frozen=True)
class _GuardedImages(Images):
    """Images of a third-party reader; every failure to read one raises `UnreadableImage`."""

    images: Images
    point: str

    def read(self, position: int) -> StoredImage:
        try:
            image = self.images.read(position)
        except (UnreadableImage, KeyboardInterrupt):
            raise
        except BaseException as error:  # SystemExit, for instance
            raise UnreadableImage(f"reader {self.point}: {type(error).__name__}: {first_line(error)}") from None
        if isinstance(image, bytes | np.ndarray):
            return image
        raise UnreadableImage(f"reader {self.point} returned {type(image).__name__}, expected bytes or an array")

    def stamp(self, position: int) -> FileStamp | None:
        try:
            return self.images.stamp(position)
        except Exception:  # an image without a stamp is compared by its content
            return None


def _validated(result: ReaderResult) -> ReaderResult:
    """The result with tuples and an integer array; raise if its parts differ in length."""
    labels = None if result.labels is None else np.asarray(result.labels, dtype=np.int32)
    parts = [result.locations, *result.groups.values(), *([] if labels is None else [labels])]
    if any(len(part) != len(result.ids) for part in parts):
        lengths = ", ".join(str(len(part)) for part in parts)
        raise ValueError(f"{len(result.ids)} ids, but locations, groups and labels of length {lengths}")
    return replace(result, ids=tuple(result.ids), labels=labels, locations=tuple(result.locations))


@contextmanager
def _naming_entry_point(point: str) -> Iterator[None]:
    try:
        yield
    except (RegradeError, KeyboardInterrupt):
        raise
    except BaseException as error:  # code of third parties may raise anything
        raise InputError(
            f"the reader of entry point {point!r} (regrade.readers) failed: {type(error).__name__}: "
            f"{first_line(error)}; repair or uninstall it"
        ) from None
