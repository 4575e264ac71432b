"""The registry of readers: look them up by name, or by the path that they recognize."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

from regrade.core import Images, ImageSource, InputError, UnknownName
from regrade.testsets.arrays import ArrayReader
from regrade.testsets.cifar import CifarReader
from regrade.testsets.corrupted_reader import READER as CORRUPTED
from regrade.testsets.corrupted_reader import CorruptedReader
from regrade.testsets.folder import FolderReader
from regrade.testsets.reader import Reader
from regrade.testsets.table import ManifestReader, ParquetReader
from regrade.testsets.tar import TarReader
from regrade.testsets.third_party import load_reader

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
