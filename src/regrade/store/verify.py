"""Checking every stored file of a workspace against its checksum."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from regrade.core import FormatError
from regrade.store.checked_json import read_checked_json
from regrade.store.checkpoint_folder import read_checkpoint_manifest
from regrade.store.checksums import Checksums
from regrade.store.damage import damaged
from regrade.store.layout import CHECKPOINTS, OBJECTS, PREDICTIONS, SIGNATURES, TABLES
from regrade.store.parquet import read_meta
from regrade.store.prediction_folder import read_manifest

_Stated = Mapping[str, Checksums]


@dataclass(frozen=True)
class CheckedFile:
    """One stored file: its path in the workspace, its size, and what is wrong with it, if anything is."""

    path: str
    bytes: int
    trouble: str = ""


def stored_files(root: Path) -> list[Path]:
    """Every file that carries its own checksum, some of them with the checksums of the files beside them."""
    return [path for pattern in _READERS for path in sorted(root.glob(pattern))]


def check_stored_file(root: Path, path: Path) -> Iterator[CheckedFile]:
    """Check a stored file, and the files beside it whose checksums it holds."""
    pattern = next(pattern for pattern in _READERS if path.relative_to(root).match(pattern))
    try:
        stated = _READERS[pattern](path)
    except FormatError as error:
        yield _checked(root, path, str(error))
        return
    yield _checked(root, path)
    for name, checksums in stated.items():
        yield _checked(root, path.parent / name, _trouble_with(path.parent / name, checksums))


def _checked(root: Path, path: Path, trouble: str = "") -> CheckedFile:
    size = path.stat().st_size if path.is_file() else 0
    return CheckedFile(path.relative_to(root).as_posix(), size, trouble)


def _trouble_with(path: Path, checksums: Checksums) -> str:
    if not path.is_file():
        return str(damaged(path, "it is missing"))
    return "" if Checksums.of_file(path) == checksums else str(damaged(path))


def _nothing_beside(read: Callable[[Path], object], path: Path) -> _Stated:
    read(path)
    return {}


def _beside_signatures(path: Path) -> _Stated:
    return {name: Checksums.from_json(stated) for name, stated in read_meta(path)["files"].items()}


_READERS: Mapping[str, Callable[[Path], _Stated]] = {
    **dict.fromkeys(TABLES, partial(_nothing_beside, read_meta)),
    **dict.fromkeys(OBJECTS, partial(_nothing_beside, read_checked_json)),
    PREDICTIONS: lambda path: read_manifest(path.parent).files,
    CHECKPOINTS: lambda path: read_checkpoint_manifest(path.parent).files,
    SIGNATURES: _beside_signatures,
}
"""What reads and checks the files of a pattern, and gives the checksums of the files beside each."""
