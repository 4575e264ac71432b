"""What a stored file states about itself: every file states its place, and is used nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from regrade.store.damage import damaged

PLACE = "place"
"""The key under which a file states where it belongs, as a path below the folder of the workspace."""


class Metadata(dict[str, Any]):
    """The statements of one file by key; to look up one that the file does not make raises `DamagedFile`."""

    def __init__(self, path: Path, stated: Mapping[str, Any]) -> None:
        super().__init__(stated)
        self.path = path

    def __missing__(self, key: str) -> Any:
        raise damaged(self.path, f"it does not state its {key}")


def metadata_in_place(path: Path, stated: Mapping[str, Any]) -> Metadata:
    """The statements of a file that lies where it belongs; one that was renamed, copied or swapped raises.

    The place holds the kind of a file and all names, versions and numbers that tell it from others of its kind.
    """
    metadata = Metadata(path, stated)
    place = PurePosixPath(str(metadata[PLACE]))
    if path.parts[-len(place.parts) :] != place.parts:
        raise damaged(path, f"it holds {place}, not what its name says")
    return metadata
