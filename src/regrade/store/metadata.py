"""The metadata of stored files: every file states its place, and is refused anywhere else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from regrade.store.file_errors import damaged

PLACE = "place"
"""The metadata key for the path of a file relative to the workspace."""


class Metadata(dict[str, Any]):
    """The metadata of a file as a dict that raises `DamagedFile` for missing keys."""

    def __init__(self, path: Path, stated: Mapping[str, Any]) -> None:
        super().__init__(stated)
        self.path = path

    def __missing__(self, key: str) -> Any:
        raise damaged(self.path, f"it does not state its {key}")


def metadata_in_place(path: Path, stated: Mapping[str, Any]) -> Metadata:
    """The metadata of a file at its stated place; raise if the file was renamed, copied or swapped.

    The place includes the kind of the file and all names, versions and numbers that identify it.
    """
    metadata = Metadata(path, stated)
    place = PurePosixPath(str(metadata[PLACE]))
    if path.parts[-len(place.parts) :] != place.parts:
        raise damaged(path, f"it holds {place}, not what its name says")
    return metadata
