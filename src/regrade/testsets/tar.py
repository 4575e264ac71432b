"""Pictures in tar shards, in the layout of WebDataset."""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from regrade.core import ClassSpace, FormatError, InputError, Picture, Pictures, PictureSource, UnreadablePicture
from regrade.testsets.folder import SUFFIXES
from regrade.testsets.reader import Found, Layout, Reader, Wanted

_LABELS = ("cls", "label", "txt")
_JSON_LABELS = ("label", "wnid", "class", "target")


class TarReader(Reader):
    """One or more tar files: for each key a picture and, beside it, ``.cls``, ``.txt`` or ``.json`` with its class."""

    name = "tar"

    def recognises(self, path: Path) -> bool:
        """A tar file, or a folder with tar files and nothing else of use."""
        return path.suffix == ".tar" or (path.is_dir() and any(path.glob("*.tar")))

    def find(self, path: Path, wanted: Wanted) -> Found:
        """All samples in the order of the shards; their ids are the keys, their places shard, offset and size."""
        ids, labels, locations, groups = [], [], [], []
        for shard in _shards(path):
            for sample in _samples(shard):
                ids.append(sample.key)
                locations.append(f"{shard.name}:{sample.offset}:{sample.size}")
                if wanted.layout is not Layout.FLAT:
                    labels.append(_class_index(sample, wanted.space, shard))
                groups.append(tuple(str(sample.facts.get(column, "")) for column in wanted.columns.groups))
        if not ids:
            raise InputError(f"there is no picture in {path}")
        values = (
            dict(zip(wanted.columns.groups, zip(*groups, strict=True), strict=True)) if wanted.columns.groups else {}
        )
        return Found(tuple(ids), np.array(labels, dtype=np.int32) if labels else None, tuple(locations), values)

    def open(self, source: PictureSource) -> Pictures:
        """Pictures by their offset within a shard."""
        return TarPictures(Path(source.root), source.locations)


@dataclass(frozen=True)
class TarPictures(Pictures):
    """Pictures inside tar files, read by offset; the files stay open and are shared between threads."""

    root: Path
    places: tuple[str, ...]

    def read(self, position: int) -> Picture:
        """The bytes of a picture."""
        name, offset, size = self.places[position].rsplit(":", 2)
        try:
            data = os.pread(self._handle(name), int(size), int(offset))
        except OSError as error:
            raise UnreadablePicture(f"{name}: {error.strerror or error}") from None
        if len(data) < int(size):
            raise UnreadablePicture(f"{name} ends within the picture")
        return data

    def _handle(self, name: str) -> int:
        if name not in self._handles:
            folder = self.root if self.root.is_dir() else self.root.parent
            self._handles[name] = os.open(folder / name, os.O_RDONLY)
        return self._handles[name]

    @cached_property
    def _handles(self) -> dict[str, int]:
        return {}

    def __getstate__(self) -> dict[str, object]:
        return {"root": self.root, "places": self.places}


@dataclass(frozen=True)
class _Sample:
    """One key of a shard: where its picture is, and what else is said of it."""

    key: str
    offset: int
    size: int
    label: str | None
    facts: dict[str, Any]


def _shards(path: Path) -> list[Path]:
    return sorted(path.glob("*.tar")) if path.is_dir() else [path]


def _samples(shard: Path) -> Iterator[_Sample]:
    parts: dict[str, dict[str, Any]] = {}
    try:
        with tarfile.open(shard) as archive:
            for member in archive:
                if not member.isfile():
                    continue
                key, _, ending = _split(member.name)
                entry = parts.setdefault(key, {})
                if f".{ending}" in SUFFIXES:
                    entry["picture"] = (member.offset_data, member.size)
                elif ending in (*_LABELS, "json"):
                    file = archive.extractfile(member)
                    entry[ending] = file.read().decode() if file else ""
    except (tarfile.TarError, EOFError, OSError, UnicodeDecodeError) as error:
        raise FormatError(f"{shard} cannot be read as tar: {error}") from None
    for key, entry in parts.items():
        if "picture" in entry:
            (offset, size), (label, facts) = entry["picture"], _facts(entry, shard, key)
            yield _Sample(key, offset, size, label, facts)


def _split(name: str) -> tuple[str, str, str]:
    """The key of a member is its path up to the first dot of the file's name."""
    folder, slash, file = name.rpartition("/")
    stem, dot, ending = file.partition(".")
    return folder + slash + stem, dot, ending.lower()


def _facts(entry: dict[str, Any], shard: Path, key: str) -> tuple[str | None, dict[str, Any]]:
    facts: dict[str, Any] = {}
    if "json" in entry:
        try:
            facts = json.loads(entry["json"])
        except ValueError:
            raise FormatError(f"{shard}: {key}.json is not valid JSON") from None
    label = next((entry[name].strip() for name in _LABELS if name in entry), None)
    if label is None:
        label = next((str(facts[name]) for name in _JSON_LABELS if name in facts), None)
    return label, facts


def _class_index(sample: _Sample, space: ClassSpace, shard: Path) -> int:
    if sample.label is None:
        raise FormatError(f"{shard}: {sample.key} has no .cls, .txt or .json with its class; or say --layout flat")
    if sample.label in space.index_of:
        return space.index_of[sample.label]
    if sample.label.isdigit() and int(sample.label) < len(space) and not all(c.isdigit() for c in space.ids):
        return int(sample.label)
    return space.index(sample.label)
