"""The readers there are, looked up by name or by what they recognize."""

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
"""The entry-point group in which third parties offer readers of their own."""

_IN_ORDER: tuple[Reader, ...] = (
    ArrayReader(), CifarReader(), ParquetReader(), ManifestReader(), TarReader(), FolderReader()
)  # fmt: skip
_BUILT_IN = {reader.name: reader for reader in _IN_ORDER}
_ARCHIVES = (".zip", ".gz", ".tgz", ".bz2", ".xz", ".zst", ".7z", ".rar")


def readers() -> dict[str, Reader]:
    """All readers of files and folders by name, third parties' first: they may recognize what built-in ones do not."""
    offered: dict[str, Reader] = {}
    for point in entry_points(group=ENTRY_POINTS):
        reader = load_reader(point)
        if reader.name in (*_BUILT_IN, CORRUPTED, *offered):
            raise InputError(
                f"the reader of entry point {point.name!r} ({ENTRY_POINTS}) calls itself {reader.name!r}, a name that "
                "is taken: uninstall it"
            )
        offered[reader.name] = reader
    return offered | _BUILT_IN


def reader_named(name: str) -> Reader:
    """A reader by name."""
    if name == CORRUPTED:
        return CorruptedReader(open_images)
    if name in _BUILT_IN:
        return _BUILT_IN[name]  # whatever third parties bring
    known = readers()
    if name not in known:
        raise UnknownName("reader", name, known)
    return known[name]


def reader_for(path: Path) -> Reader:
    """The first reader that recognizes a path."""
    if not path.exists():
        raise InputError(f"there is no file or folder {path}")
    known = readers()
    for reader in known.values():
        if reader.recognizes(path):
            return reader
    unpack = ": unpack it first" if path.suffix.lower() in _ARCHIVES else ""
    raise InputError(f"{path} is in no form that a reader knows ({', '.join(known)}){unpack}")


def open_images(source: ImageSource) -> Images:
    """The images of a source."""
    return reader_named(source.reader).open(source)
