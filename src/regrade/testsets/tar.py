"""Pictures in tar shards, in the layout of WebDataset."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regrade.core import FileStamp, FormatError, InputError, Picture, Pictures, PictureSource, UnreadablePicture
from regrade.core.arrays import IntArray
from regrade.testsets.class_names import classes_by_name
from regrade.testsets.folder import SUFFIXES, picture_places
from regrade.testsets.reader import Found, Layout, Reader, Wanted, check_names, check_still_there, file_stamp

_LABELS = ("cls", "label", "txt")
_JSON_LABELS = ("label", "wnid", "class", "target")


class TarReader(Reader):
    """One or more tar files: for each key a picture and, beside it, ``.cls``, ``.txt`` or ``.json`` with its class."""

    name = "tar"

    def recognises(self, path: Path) -> bool:
        """A tar file, or a folder with tar files and no pictures."""
        if path.is_dir():
            return bool(_shards(path)) and next(picture_places(path), None) is None
        return path.suffix.lower() == ".tar"

    def find(self, path: Path, wanted: Wanted) -> Found:
        """All samples in the order of the shards; their ids are the keys, their places shard, offset and size."""
        if wanted.columns.id:
            raise InputError("in tar shards the ids are the names of the files: leave out --id-column")
        samples = [sample for shard in _shards(path) for sample in _samples(shard)]
        if not samples:
            raise InputError(f"there is no picture in {path}")
        check_names(sample.key for sample in samples)
        return Found(
            tuple(sample.key for sample in samples),
            None if wanted.layout is Layout.FLAT else _labels(samples, wanted, path),
            tuple(f"{sample.shard.name}:{sample.offset}:{sample.size}" for sample in samples),
            {column: tuple(_fact(sample, column) for sample in samples) for column in wanted.columns.groups},
        )

    def open(self, source: PictureSource) -> Pictures:
        """Pictures by their offset within a shard."""
        check_still_there(Path(source.root))
        return TarPictures(Path(source.root), source.locations)


@dataclass(frozen=True)
class TarPictures(Pictures):
    """Pictures inside tar files, read by offset."""

    root: Path
    places: Sequence[str]

    def read(self, position: int) -> Picture:
        """The bytes of a picture."""
        name, offset, size = self.places[position].rsplit(":", 2)
        folder = self.root if self.root.is_dir() else self.root.parent
        try:
            with (folder / name).open("rb", buffering=0) as file:
                file.seek(int(offset))
                data = file.read(int(size))
        except OSError as error:
            raise UnreadablePicture(f"{name}: {error.strerror or error}") from None
        if len(data) < int(size):
            raise UnreadablePicture(f"{name} ends within the picture")
        return data

    def stamp(self, position: int) -> FileStamp | None:
        """The stamp of the shard that holds an image."""
        folder = self.root if self.root.is_dir() else self.root.parent
        return file_stamp(folder / self.places[position].rsplit(":", 2)[0])


@dataclass(frozen=True)
class _Sample:
    """One key of a shard: where its picture is, and what else is said of it."""

    shard: Path
    key: str
    offset: int
    size: int
    label: str | None
    """What a file beside the picture says."""
    facts: dict[str, Any]
    """What the .json says."""


def _shards(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.glob("*.tar") if not file.name.startswith("."))


def _samples(shard: Path) -> Iterator[_Sample]:
    for key, parts in _parts(shard).items():
        if "picture" in parts:
            offset, size = parts["picture"]
            yield _Sample(shard, key, offset, size, _label_beside(parts), _facts(parts, shard, key))
        elif "dotted" in parts:
            raise FormatError(f"{shard}: {parts['dotted']}: a sample's name ends at its first dot: expected KEY.jpg")
        elif "cls" in parts:
            raise FormatError(f"{shard}: {key} has a class but no picture")


def _parts(shard: Path) -> dict[str, dict[str, Any]]:
    """For each key of a shard the place of its picture, and the text of what lies beside it."""
    found: dict[str, dict[str, Any]] = {}
    try:
        with tarfile.open(shard, "r:") as archive:  # offsets into a compressed file would lead astray
            for member in archive:
                if member.isfile():
                    _take(archive, member, found, shard)
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        raise FormatError(f"{shard} cannot be read as an uncompressed tar: {error}") from None
    return found


def _take(archive: tarfile.TarFile, member: tarfile.TarInfo, found: dict[str, dict[str, Any]], shard: Path) -> None:
    key, ending = _split(member.name.removeprefix("./"))
    if key.rpartition("/")[2] == "":
        return  # a hidden file
    parts = found.setdefault(key, {})
    if f".{ending}" in SUFFIXES:
        if "picture" in parts:
            raise FormatError(f"{shard}: there are two pictures of {key}")
        parts["picture"] = (member.offset_data, member.size)
    elif ending in (*_LABELS, "json"):
        file = archive.extractfile(member)
        parts[ending] = file.read().decode() if file else ""
    elif f".{ending.rpartition('.')[2]}" in SUFFIXES:
        parts["dotted"] = member.name


def _split(name: str) -> tuple[str, str]:
    """The key of a member is its path up to the first dot of the file's name."""
    folder, slash, file = name.rpartition("/")
    stem, _, ending = file.partition(".")
    return folder + slash + stem, ending.lower()


def _label_beside(parts: dict[str, Any]) -> str | None:
    return next((parts[name].strip() for name in _LABELS if name in parts), None)


def _facts(parts: dict[str, Any], shard: Path, key: str) -> dict[str, Any]:
    try:
        facts = json.loads(parts.get("json", "{}"))
    except (ValueError, RecursionError):
        raise FormatError(f"{shard}: {key}.json is not valid JSON") from None
    if not isinstance(facts, dict):
        raise FormatError(f"{shard}: {key}.json holds {type(facts).__name__}, an object is wanted")
    return facts


def _labels(samples: Sequence[_Sample], wanted: Wanted, path: Path) -> IntArray:
    column = wanted.columns.label
    labels = [_fact(sample, column) if column else _usual_label(sample) for sample in samples]
    classes = classes_by_name(
        dict(zip(labels, labels, strict=True)), wanted.space, wanted.naming, what="label", where=path
    )
    return np.array([classes[label] for label in labels], dtype=np.int32)


def _usual_label(sample: _Sample) -> str:
    facts = (sample.facts[name] for name in _JSON_LABELS if sample.facts.get(name) is not None)
    label = sample.label if sample.label is not None else next(facts, None)
    if label is None:
        raise FormatError(
            f"{sample.shard}: {sample.key} has no .cls, .txt or .json with its class; or say --layout flat"
        )
    return str(label)


def _fact(sample: _Sample, column: str) -> str:
    if sample.facts.get(column) is None:
        raise FormatError(f"{sample.shard}: {sample.key} has no .json with a value for {column!r}")
    return str(sample.facts[column])
