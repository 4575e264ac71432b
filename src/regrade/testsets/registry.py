"""The readers there are, looked up by name or by what they recognise."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

from regrade.core import InputError, Pictures, PictureSource, UnknownName
from regrade.testsets.arrays import ArrayReader
from regrade.testsets.cifar import CifarReader
from regrade.testsets.folder import FolderReader
from regrade.testsets.reader import Reader
from regrade.testsets.table import ManifestReader, ParquetReader
from regrade.testsets.tar import TarReader

ENTRY_POINTS = "regrade.readers"
"""The entry-point group in which third parties offer readers of their own."""

_BUILT_IN: tuple[Reader, ...] = (
    ArrayReader(), CifarReader(), ParquetReader(), ManifestReader(), TarReader(), FolderReader()
)  # fmt: skip


def readers() -> dict[str, Reader]:
    """All readers by name, those of third parties first, so that they may recognise what the built-in ones do not."""
    offered = [point.load()() for point in entry_points(group=ENTRY_POINTS)]
    return {reader.name: reader for reader in (*offered, *_BUILT_IN)}


def reader_named(name: str) -> Reader:
    """A reader by name."""
    known = readers()
    if name not in known:
        raise UnknownName("reader", name, known)
    return known[name]


def reader_for(path: Path) -> Reader:
    """The first reader that recognises a path."""
    if not path.exists():
        raise InputError(f"there is no file or folder {path}")
    for reader in readers().values():
        if reader.recognises(path):
            return reader
    raise InputError(f"{path} is in no form that a reader knows ({', '.join(readers())})")


def open_pictures(source: PictureSource) -> Pictures:
    """The pictures of a source."""
    return reader_named(source.reader).open(source)
