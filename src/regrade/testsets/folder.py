"""Pictures in folders, one folder a class."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regrade.core import InputError, Picture, Pictures, PictureSource, UnreadablePicture
from regrade.testsets.class_names import classes_by_name
from regrade.testsets.reader import Found, Layout, Reader, Wanted, check_names, check_still_there

SUFFIXES = frozenset({".jpeg", ".jpg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm"})


class FolderReader(Reader):
    """Folders of pictures, each folder a class by id, index or name; which of them is stated or proven."""

    name = "folder"

    def recognises(self, path: Path) -> bool:
        """Any folder."""
        return path.is_dir()

    def find(self, path: Path, wanted: Wanted) -> Found:
        """All pictures below the folder, ordered by path; their ids are file names, or paths where names repeat."""
        wanted.refuse_columns("folder of pictures")
        places = sorted(picture_places(path))
        if not places:
            raise InputError(f"there is no picture below {path}")
        check_names(places)
        ids = tuple(_last(place) for place in places)
        if len(set(ids)) < len(ids):
            ids = tuple(places)
        if wanted.layout is Layout.FLAT:
            return Found(ids, None, tuple(places))
        folders = {folder: _last(folder) for folder in map(_folder, places)}
        classes = classes_by_name(folders, wanted.space, wanted.naming, what="folder", where=path)
        labels = np.array([classes[_folder(place)] for place in places], dtype=np.int32)
        return Found(ids, labels, tuple(places))

    def open(self, source: PictureSource) -> Pictures:
        """Pictures by their paths below the root."""
        check_still_there(Path(source.root))
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
        except ValueError as error:  # a path that no file can have
            raise UnreadablePicture(f"{self.places[position]!r}: {error}") from None


def picture_places(root: Path) -> Iterator[str]:
    """Paths of all pictures below a folder, with forward slashes, in no particular order; hidden ones are left out."""
    return _places(root, "", frozenset())


def _places(folder: Path, prefix: str, above: frozenset[Path]) -> Iterator[str]:
    here = folder.resolve()
    if here in above:
        return  # a link that leads back up would be followed for ever
    try:
        entries = list(os.scandir(folder))
    except OSError as error:
        raise InputError(f"folder {folder} cannot be read: {error.strerror or error}") from None
    for entry in entries:
        if entry.name.startswith("."):
            continue
        # an entry knows what it is without asking the disk, but not where a link leads
        below = folder / entry.name if entry.is_symlink() else entry
        suffix = Path(entry.name).suffix.lower()
        if below.is_dir():
            yield from _places(folder / entry.name, f"{prefix}{entry.name}/", above | {here})
        elif suffix in SUFFIXES:
            if below.is_file() or entry.is_symlink():
                yield prefix + entry.name
        elif not suffix and entry.is_symlink() and not below.is_file():
            raise InputError(f"{folder / entry.name} is a link that leads nowhere: a folder of pictures may be missing")


def _folder(place: str) -> str:
    return place.rpartition("/")[0]


def _last(place: str) -> str:
    return place.rpartition("/")[2]
