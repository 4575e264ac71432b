"""Pictures in folders, one folder a class."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regrade.core import ClassSpace, InputError, MismatchError, Picture, Pictures, PictureSource, UnreadablePicture
from regrade.testsets.reader import Found, Layout, Reader, Wanted

SUFFIXES = frozenset({".jpeg", ".jpg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm"})


class FolderReader(Reader):
    """Folders of pictures, each folder a class by id, index or name; which of them is stated or proven."""

    name = "folder"

    def recognises(self, path: Path) -> bool:
        """Any folder."""
        return path.is_dir()

    def find(self, path: Path, wanted: Wanted) -> Found:
        """All pictures below the folder, ordered by path; their ids are file names, or paths where names repeat."""
        places = _picture_places(path)
        if not places:
            raise InputError(f"there is no picture below {path}")
        ids = tuple(Path(place).name for place in places)
        if len(set(ids)) < len(ids):
            ids = tuple(places)
        if wanted.layout is Layout.FLAT:
            return Found(ids, None, tuple(places))
        folders = sorted({place.rpartition("/")[0] for place in places})
        classes = _classes_of_folders(folders, wanted.space, wanted.layout, path)
        labels = np.array([classes[place.rpartition("/")[0]] for place in places], dtype=np.int32)
        return Found(ids, labels, tuple(places))

    def open(self, source: PictureSource) -> Pictures:
        """Pictures by their paths below the root."""
        return FilePictures(Path(source.root), source.locations)


@dataclass(frozen=True)
class FilePictures(Pictures):
    """Pictures that are files of their own."""

    root: Path
    places: tuple[str, ...]

    def read(self, position: int) -> Picture:
        """The content of a picture's file."""
        try:
            return (self.root / self.places[position]).read_bytes()
        except OSError as error:
            raise UnreadablePicture(f"{self.places[position]}: {error.strerror or error}") from None


def _picture_places(root: Path) -> list[str]:
    """Paths of all pictures below a folder, with forward slashes, in one order on every machine."""
    places = []
    for folder, _, files in os.walk(root):
        relative = Path(folder).relative_to(root)
        places += [
            (relative / file).as_posix()
            for file in files
            if Path(file).suffix.lower() in SUFFIXES and not file.startswith("._")
        ]
    return sorted(places)


def _classes_of_folders(folders: Sequence[str], space: ClassSpace, layout: Layout, root: Path) -> dict[str, int]:
    readings = {kind: reading for kind, reading in _readings(space).items() if layout in (kind, Layout.PROVEN)}
    fitting = {kind: r for kind, r in readings.items() if all(_last(folder) in r for folder in folders)}
    if not fitting:
        raise _misfit(folders, readings, space, root)
    found = {kind: {folder: reading[_last(folder)] for folder in folders} for kind, reading in fitting.items()}
    if len({tuple(classes.values()) for classes in found.values()}) > 1:
        kinds = ", ".join(kind.value for kind in found)
        raise InputError(f"the folders below {root} could be any of {kinds} of {space.name}: say which with --layout")
    return next(iter(found.values()))


def _readings(space: ClassSpace) -> dict[Layout, Mapping[str, int]]:
    """What a folder's name would mean under each layout."""
    return {
        Layout.ID: space.index_of,
        Layout.INDEX: {str(index): index for index in range(len(space))},
        Layout.NAME: {name: index for index, name in enumerate(space.names)},
    }


def _misfit(
    folders: Sequence[str], readings: Mapping[Layout, Mapping[str, int]], space: ClassSpace, root: Path
) -> InputError:
    """The error that names the folder which spoils the reading that fits most."""
    best = max(readings.values(), key=lambda reading: sum(_last(folder) in reading for folder in folders))
    stranger = next(folder for folder in folders if _last(folder) not in best)
    kinds = " or ".join(kind.value for kind in readings)
    where = f"folder {stranger!r}" if stranger else "the folder itself"
    return MismatchError(
        f"{where} of {root} is no class {kinds} of {space.name}; pictures without labels: --layout flat"
    )


def _last(folder: str) -> str:
    return folder.rpartition("/")[2]
