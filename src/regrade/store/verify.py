"""Checking stored files of a workspace: checksum, place, and the other files of their folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regrade.core import FormatError
from regrade.store.checked_json import read_stored_json
from regrade.store.checkpoints import read_checkpoint_manifest
from regrade.store.checksums import Checksums
from regrade.store.damage import damaged
from regrade.store.layout import CHECKPOINTS, OBJECTS, PREDICTIONS, SIGNATURES, TABLES
from regrade.store.parquet import read_meta
from regrade.store.predictions import read_manifest

_Metadata = Mapping[str, Any]
_FILES = "files"


@dataclass(frozen=True)
class CheckedFile:
    """A checked file: its path in the workspace, its size, the problem if there is one, and its metadata."""

    path: str
    bytes: int
    trouble: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


def stored_files(root: Path) -> list[Path]:
    """All files with their own checksum; manifests among them list the checksums of further files."""
    return [path for pattern in _READERS for path in sorted(root.glob(pattern))]


def check_stored_file(root: Path, path: Path) -> Iterator[CheckedFile]:
    """Check a stored file, and the files of its folder whose checksums it lists."""
    pattern = next(pattern for pattern in _READERS if path.relative_to(root).match(pattern))
    try:
        metadata = _READERS[pattern](path)
    except FormatError as error:
        yield _checked(root, path, str(error))
        return
    yield _checked(root, path, metadata=metadata)
    for name, checksums in metadata.get(_FILES, {}).items():
        yield _checked(root, path.parent / name, _trouble_with(path.parent / name, checksums))


def _checked(root: Path, path: Path, trouble: str = "", metadata: _Metadata | None = None) -> CheckedFile:
    size = path.stat().st_size if path.is_file() else 0
    return CheckedFile(path.relative_to(root).as_posix(), size, trouble, metadata or {})


def _trouble_with(path: Path, checksums: Checksums) -> str:
    if not path.is_file():
        return str(damaged(path, "it is missing"))
    return "" if Checksums.of_file(path) == checksums else str(damaged(path))


def _signature_metadata(path: Path) -> _Metadata:
    meta = read_meta(path)
    return {**meta, _FILES: {name: Checksums.from_json(stated) for name, stated in meta[_FILES].items()}}


_READERS: Mapping[str, Callable[[Path], _Metadata]] = {
    **dict.fromkeys(TABLES, read_meta),
    **dict.fromkeys(OBJECTS, read_stored_json),
    PREDICTIONS: lambda path: vars(read_manifest(path.parent)),
    CHECKPOINTS: lambda path: vars(read_checkpoint_manifest(path.parent)),
    SIGNATURES: _signature_metadata,
}
"""The function that checks files of a pattern and returns their metadata, with further checksums in ``files``."""
