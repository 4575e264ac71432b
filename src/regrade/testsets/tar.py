"""Images in tar shards, in the WebDataset format."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from regrade.core import FileStamp, FormatError, Images, ImageSource, InputError, StoredImage, UnreadableImage
from regrade.core.arrays import IntArray
from regrade.core.strict_json import parse_json
from regrade.tables import why_unreadable
from regrade.testsets.decode import image_suffixes, passed_over_images
from regrade.testsets.folder import image_places
from regrade.testsets.reader import (
    Layout,
    Reader,
    ReaderOptions,
    ReaderResult,
    check_names,
    check_still_there,
    classes_by_name,
    file_stamp,
)

_LABELS = ("cls", "label", "txt")
_JSON_LABELS = ("label", "wnid", "class", "target")
_LONGEST = 1 << 24  # maximum size in bytes of a file with a label


class TarReader(Reader):
    """One or more tar files: for each key an image, and a file ``.cls``, ``.txt`` or ``.json`` with its class."""

    name = "tar"

    def recognizes(self, path: Path) -> bool:
        """A tar file, or a folder with tar files and without images."""
        if path.is_dir():
            return bool(_shards(path)) and next(image_places(path), None) is None
        return path.suffix.lower() == ".tar"

    def find(self, path: Path, options: ReaderOptions) -> ReaderResult:
        """All samples in the order of the shards; ids are the keys, locations are shard, offset and size."""
        if options.columns.id:
            raise InputError("in tar shards the ids are the file names: omit --id-column")
        samples, notes = tar_samples(path)
        return ReaderResult(
            tuple(sample.key for sample in samples),
            None if options.layout is Layout.FLAT else _labels(samples, options, path),
            tuple(sample.location for sample in samples),
            {column: tuple(_json_field(sample, column) for sample in samples) for column in options.columns.groups},
            notes=notes,
        )

    def open(self, source: ImageSource) -> Images:
        """Open images by their offset within a shard."""
        check_still_there(source.path)
        return TarImages(source.path, source.locations)


@dataclass(frozen=True)
class TarImages(Images):
    """Images inside tar files, read by offset."""

    root: Path
    places: Sequence[str]

    def read(self, position: int) -> StoredImage:
        """The encoded image at a position."""
        name, offset, size = self.places[position].rsplit(":", 2)
        folder = self.root if self.root.is_dir() else self.root.parent
        try:
            with (folder / name).open("rb", buffering=0) as file:
                file.seek(int(offset))
                data = file.read(int(size))
        except OSError as error:
            raise UnreadableImage(f"{name}: {error.strerror or error}") from None
        if len(data) < int(size):
            raise UnreadableImage(f"{name} is truncated within the image")
        return data

    def stamp(self, position: int) -> FileStamp | None:
        """The stamp of the shard that contains an image."""
        folder = self.root if self.root.is_dir() else self.root.parent
        return file_stamp(folder / self.places[position].rsplit(":", 2)[0])


@dataclass(frozen=True)
class TarSample:
    """One key of a shard: the location of its image, its label and its JSON fields."""

    shard: Path
    key: str
    offset: int
    size: int
    label: str | None
    """The label in a file ``.cls``, ``.label`` or ``.txt``."""
    fields: dict[str, Any]
    """The fields of the file ``.json``."""

    @property
    def location(self) -> str:
        """Shard, offset and size."""
        return f"{self.shard.name}:{self.offset}:{self.size}"

    @property
    def usual_label(self) -> str | None:
        """The label, or the first usual field of the JSON file; None if there is neither."""
        fields = (self.fields[name] for name in _JSON_LABELS if self.fields.get(name) is not None)
        label = self.label if self.label is not None else next(fields, None)
        return None if label is None else str(label)


def tar_samples(path: Path) -> tuple[list[TarSample], tuple[str, ...]]:
    """All samples of a shard or of a folder of shards, in order, and notes on what was passed over."""
    shards = [_read_shard(shard) for shard in _shards(path)]
    samples = [sample for shard in shards for sample in _samples(shard)]
    if not samples:
        raise InputError(f"{path} contains no images")
    check_names(sample.key for sample in samples)
    return samples, passed_over_images(kind for shard in shards for kind in _passed_over(shard))


def _shards(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.glob("*.tar") if not file.name.startswith("."))


@dataclass(frozen=True)
class _Shard:
    """The content of a shard: for each key the location of its image and the text of its label and JSON files."""

    path: Path
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)
    other_kinds: list[str] = field(default_factory=list)
    """The kinds of all other members: their extensions, or links."""


def _samples(shard: _Shard) -> Iterator[TarSample]:
    for key, parts in shard.parts.items():
        if "image" in parts:
            offset, size = parts["image"]
            yield TarSample(shard.path, key, offset, size, _label_beside(parts), _json_fields(parts, shard.path, key))
        elif "dotted" in parts:
            raise FormatError(
                f"{shard.path}: {parts['dotted']}: the key of a sample ends at the first dot: expected KEY.jpg"
            )
        elif "cls" in parts:
            raise FormatError(f"{shard.path}: {key} has a class but no image")


def _passed_over(shard: _Shard) -> list[str]:
    """The kinds of members that belong to no image."""
    without_image = (parts for parts in shard.parts.values() if "image" not in parts)
    return [*shard.other_kinds, *(f".{extension}" for parts in without_image for extension in parts)]


def _read_shard(path: Path) -> _Shard:
    shard = _Shard(path)
    try:
        with tarfile.open(path, "r:") as archive:  # offsets are valid for uncompressed files only
            for member in archive:
                if member.isfile():
                    _take(archive, member, shard)
                elif not member.isdir():
                    shard.other_kinds.append("links" if member.issym() or member.islnk() else "devices")
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None
    except (tarfile.TarError, EOFError, OSError, ValueError, OverflowError) as error:
        raise FormatError(f"{path} cannot be read as an uncompressed tar: {why_unreadable(error, 'tar')}") from None
    return shard


def _take(archive: tarfile.TarFile, member: tarfile.TarInfo, shard: _Shard) -> None:
    key, extension = _split(member.name.removeprefix("./"))
    if key.rpartition("/")[2] == "":
        return  # a hidden file
    if member.issparse():
        raise FormatError(f"{member.name} is a sparse file: create the shard without --sparse")
    parts = shard.parts.setdefault(key, {})
    if f".{extension}" in image_suffixes():
        if "image" in parts:
            raise FormatError(f"there are two images of {key}")
        parts["image"] = (member.offset_data, member.size)
    elif extension in (*_LABELS, "json"):
        if extension in parts:
            raise FormatError(f"the shard contains {member.name} twice")
        parts[extension] = _text_of(archive, member)
    elif f".{extension.rpartition('.')[2]}" in image_suffixes() and "image" not in parts:
        parts["dotted"] = member.name
    else:
        shard.other_kinds.append(f".{extension}" if extension else "")


def _text_of(archive: tarfile.TarFile, member: tarfile.TarInfo) -> str:
    if member.size > _LONGEST:
        raise FormatError(f"{member.name} has {member.size:,} bytes, too many for a label")
    file = archive.extractfile(member)
    try:
        return file.read().decode("utf-8-sig") if file else ""
    except UnicodeDecodeError:
        raise FormatError(f"{member.name} is not UTF-8 text") from None


def _split(name: str) -> tuple[str, str]:
    """The key and the extension of a member; the key is the path up to the first dot of the file name."""
    folder, slash, file = name.rpartition("/")
    stem, _, extension = file.partition(".")
    return folder + slash + stem, extension.lower()


def _label_beside(parts: dict[str, Any]) -> str | None:
    return next((parts[name].strip() for name in _LABELS if name in parts), None)


def _json_fields(parts: dict[str, Any], shard: Path, key: str) -> dict[str, Any]:
    try:
        fields = parse_json(parts.get("json", "{}"))
    except FormatError as error:
        raise FormatError(f"{shard}: {key}.json {error}") from None
    if not isinstance(fields, dict):
        raise FormatError(f"{shard}: {key}.json contains {type(fields).__name__}, expected an object")
    return fields


def _labels(samples: Sequence[TarSample], options: ReaderOptions, path: Path) -> IntArray:
    column = options.columns.label
    labels = [_json_field(sample, column) if column else _usual_label(sample) for sample in samples]
    classes = classes_by_name(
        dict(zip(labels, labels, strict=True)), options.space, options.naming, what="label", where=path
    )
    return np.array([classes[label] for label in labels], dtype=np.int32)


def _usual_label(sample: TarSample) -> str:
    if sample.usual_label is None:
        raise FormatError(
            f"{sample.shard}: {sample.key} has no .cls, .txt or .json with its class; for images without labels use "
            "--layout flat"
        )
    return sample.usual_label


def _json_field(sample: TarSample, column: str) -> str:
    if sample.fields.get(column) is None:
        raise FormatError(f"{sample.shard}: {sample.key} has no .json with a value for {column!r}")
    return str(sample.fields[column])
