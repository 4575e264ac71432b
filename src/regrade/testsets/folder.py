"""Images in folders, one folder per class."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regrade.core import FileStamp, Images, ImageSource, InputError, StoredImage, UnreadableImage
from regrade.core.arrays import IntArray
from regrade.testsets.decode import image_suffixes, is_image, passed_over_images
from regrade.testsets.reader import (
    Layout,
    Level,
    Reader,
    ReaderOptions,
    ReaderResult,
    check_names,
    check_still_there,
    classes_by_name,
    file_stamp,
    level_values,
)


class FolderReader(Reader):
    """Folders of images, one folder per class; folders are named by class id, class index or display name."""

    name = "folder"

    def recognizes(self, path: Path) -> bool:
        """Any folder."""
        return path.is_dir()

    def find(self, path: Path, options: ReaderOptions) -> ReaderResult:
        """All images below the folder, ordered by path; ids are file names, or paths if file names repeat.

        With levels above the class folders, ids begin with the group values of these levels instead.
        """
        options.refuse_columns("folder of images", besides=options.columns.groups)
        files = list(_files(path, "", frozenset()))
        places = sorted(file.place for file in files if file.is_image)
        notes = passed_over_images(file.suffix for file in files if not file.is_image)
        if not places:
            raise InputError(f"{path} contains no images{f' ({notes[0]})' if notes else ''}")
        check_names(places)
        labels = None if options.layout is Layout.FLAT else self._labels(path, places, options)
        levels = options.group_levels
        if not levels:
            return ReaderResult(_ids(places), labels, tuple(places), notes=notes)
        values = _values_by_folder(levels, places, path, flat=labels is None)
        rows = [values[_folder(place)] for place in places]
        groups = {level.name: tuple(row[number] for row in rows) for number, level in enumerate(levels)}
        return ReaderResult(_ids_by_level(places, rows), labels, tuple(places), groups, notes=notes)

    def _labels(self, path: Path, places: Sequence[str], options: ReaderOptions) -> IntArray:
        folders = {folder: _last(folder) for folder in map(_folder, places)}
        classes = classes_by_name(folders, options.space, options.naming, what="folder", where=path)
        return np.array([classes[_folder(place)] for place in places], dtype=np.int32)

    def open(self, source: ImageSource) -> Images:
        """Open images by their paths below the root."""
        check_still_there(source.path)
        return FileImages(source.path, source.locations)


@dataclass(frozen=True)
class FileImages(Images):
    """Images stored as individual files."""

    root: Path
    places: Sequence[str]

    def read(self, position: int) -> StoredImage:
        """The content of the file of an image."""
        try:
            return (self.root / self.places[position]).read_bytes()
        except OSError as error:
            raise UnreadableImage(f"{self.places[position]}: {error.strerror or error}") from None
        except ValueError as error:  # an invalid path
            raise UnreadableImage(f"{self.places[position]!r}: {error}") from None

    def stamp(self, position: int) -> FileStamp | None:
        """The stamp of the file of an image."""
        return file_stamp(self.root / self.places[position])


def image_places(root: Path) -> Iterator[str]:
    """Relative paths of all images below a folder, in arbitrary order and with forward slashes; skips hidden files."""
    return (file.place for file in _files(root, "", frozenset()) if file.is_image)


@dataclass(frozen=True)
class _File:
    """A file below a folder: its path from there, its suffix in lower case, and whether it is an image."""

    place: str
    suffix: str
    is_image: bool


def _files(folder: Path, prefix: str, above: frozenset[Path]) -> Iterator[_File]:
    resolved = folder.resolve()
    if resolved in above:
        return  # a symbolic link to a parent folder would never end
    try:
        entries = list(os.scandir(folder))
    except OSError as error:
        raise InputError(f"cannot read folder {folder}: {error.strerror or error}") from None
    for entry in entries:
        if entry.name.startswith("."):
            continue
        # the type of an entry is known without another disk access, except for symbolic links
        below = folder / entry.name if entry.is_symlink() else entry
        if below.is_dir():
            yield from _files(folder / entry.name, f"{prefix}{entry.name}/", above | {resolved})
        else:
            suffix = Path(entry.name).suffix.lower()
            yield _File(prefix + entry.name, suffix, _is_image(folder / entry.name, entry, suffix))


def _is_image(path: Path, entry: os.DirEntry[str], suffix: str) -> bool:
    """Whether an entry is an image; a broken link with an image suffix counts, so that it is reported as missing."""
    is_file = path.is_file() if entry.is_symlink() else entry.is_file()
    if suffix in image_suffixes():
        return is_file or entry.is_symlink()
    if suffix:
        return False
    if entry.is_symlink() and not is_file:
        raise InputError(f"{path} is a broken link: a folder of images may be missing")
    return is_file and is_image(path)


def _ids(places: Sequence[str]) -> tuple[str, ...]:
    names = tuple(_last(place) for place in places)
    return names if len(set(names)) == len(names) else tuple(places)


def _ids_by_level(places: Sequence[str], rows: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Group values and file name, with the class folder in between if names repeat.

    Folders above the levels do not appear in the ids.
    """
    ids = tuple("/".join((*row, _last(place))) for row, place in zip(rows, places, strict=True))
    if len(set(ids)) == len(ids):
        return ids
    return tuple("/".join((*row, *place.split("/")[-2:])) for row, place in zip(rows, places, strict=True))


def _values_by_folder(
    levels: Sequence[Level], places: Sequence[str], root: Path, *, flat: bool
) -> dict[str, tuple[str, ...]]:
    """The group values of each folder; without class folders, the images' own folders are the last level."""
    folders = dict.fromkeys(map(_folder, places))
    parts = {folder: folder.split("/") if folder else [] for folder in folders}
    return {folder: level_values(levels, names if flat else names[:-1], root) for folder, names in parts.items()}


def _folder(place: str) -> str:
    return place.rpartition("/")[0]


def _last(place: str) -> str:
    return place.rpartition("/")[2]
