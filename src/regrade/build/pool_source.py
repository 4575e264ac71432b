"""Candidates as they are collected: in class folders, in tar shards, or listed in a table of paths or URLs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa

from regrade.core import ClassSpace, FormatError
from regrade.tables import LABEL_COLUMNS, TABLE_SUFFIXES, column_named, ignored_columns, optional_texts, read_table
from regrade.testsets import Layout, ReaderOptions, ReaderResult, reader_for
from regrade.testsets.decode import image_suffixes
from regrade.testsets.reader import missing_files
from regrade.testsets.table import STATED_PATHS, ParquetReader, path_column
from regrade.testsets.tar import tar_samples

METADATA = ("keyword", "source_id", "author", "license", "taken", "uploaded", "query")
"""The columns of metadata that a pool keeps, as group columns of its test set."""

_ID_COLUMNS = ("image", "example", "image_id", "example_id", "id")
_CLASS_COLUMNS = (*LABEL_COLUMNS, "query_class")
_URL_COLUMNS = ("url", "image_url")
_CHECKSUM = "sha256"
_DIGITS = 32  # of the hash of a URL in the name of its file


@dataclass(frozen=True)
class PoolCandidate:
    """One listed image: its id, the class it is a candidate for as the source names it, and where it is.

    ``location`` is what the reader of the source needs; ``url`` is set for images that are downloaded.
    """

    id: str
    class_name: str
    location: str
    metadata: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    sha256: str = ""

    @property
    def source_id(self) -> str:
        """The id of the photo at its source; that of the candidate if the source has none."""
        return self.metadata.get("source_id", "") or self.id


@dataclass(frozen=True)
class PoolSource:
    """All listed images, and the reader and path of their images; ``is_remote``: they have to be downloaded first."""

    reader: str
    path: Path
    candidates: tuple[PoolCandidate, ...]
    notes: tuple[str, ...] = ()
    is_remote: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of metadata in which any candidate has a value."""
        return tuple(name for name in METADATA if any(row.metadata.get(name) for row in self.candidates))


def read_source(path: Path, space: ClassSpace) -> PoolSource:
    """List the candidates at a path: a table of paths or URLs, tar shards, class folders, or any other format."""
    if path.suffix.lower() in TABLE_SUFFIXES and not ParquetReader().recognizes(path):
        return _from_table(path, read_table(path))
    reader = reader_for(path)
    if reader.name == "tar":
        return _from_tar(path)
    if reader.name == "folder":
        listing = reader.find(path, ReaderOptions(space, Layout.FLAT))
        return PoolSource(reader.name, path, _in_folders(listing), listing.notes)
    listing = reader.find(path, ReaderOptions(space))
    return PoolSource(reader.name, path, _labeled(listing, space), listing.notes)


def downloaded_name(url: str) -> str:
    """The path of the file of a URL in the folder of a pool's images, which depends on the URL alone."""
    digest = hashlib.sha256(url.encode()).hexdigest()[:_DIGITS]
    try:
        suffix = "." + urlsplit(url).path.rpartition(".")[2].lower()
    except ValueError:
        suffix = ""
    return f"{digest[:2]}/{digest}{suffix if suffix in image_suffixes() else ''}"


def _in_folders(listing: ReaderResult) -> tuple[PoolCandidate, ...]:
    folders = [["", *place.split("/")][-2] for place in listing.locations]
    return tuple(PoolCandidate(*row) for row in zip(listing.ids, folders, listing.locations, strict=True))


def _labeled(listing: ReaderResult, space: ClassSpace) -> tuple[PoolCandidate, ...]:
    """The candidates of a reader that knows the classes of its images; unlabeled ones have no class."""
    labels = [-1] * len(listing.ids) if listing.labels is None else listing.labels.tolist()
    names = ["" if label < 0 else space.ids[label] for label in labels]
    return tuple(PoolCandidate(*row) for row in zip(listing.ids, names, listing.locations, strict=True))


def _from_tar(path: Path) -> PoolSource:
    samples, notes = tar_samples(path)
    candidates = tuple(
        PoolCandidate(
            sample.key,
            sample.usual_label or "",
            sample.location,
            {name: str(sample.fields[name]) for name in METADATA if sample.fields.get(name) is not None},
            sha256=str(sample.fields.get(_CHECKSUM) or ""),
        )
        for sample in samples
    )
    return PoolSource("tar", path, candidates, notes)


def _from_table(path: Path, table: pa.Table) -> PoolSource:
    table = table.rename_columns([_plain_name(name) for name in table.column_names])
    classes, places = column_named(table, *_CLASS_COLUMNS), _location_column(table, path)
    if classes is None:
        raise FormatError(f"{path} has no column with the class of each candidate: name it label, class or wnid")
    locations = optional_texts(table, places)
    is_remote = places in _URL_COLUMNS or any(map(_is_url, locations))
    ids = next((name for name in _ID_COLUMNS if name in table.column_names and name != places), None)
    columns = {name: optional_texts(table, name) for name in METADATA if name in table.column_names}
    used = {classes, places, *columns, *([ids] if ids else []), _CHECKSUM, *_URL_COLUMNS}
    notes = ignored_columns(table, used, optional=METADATA)
    checksums = optional_texts(table, _CHECKSUM) if _CHECKSUM in table.column_names else ("",) * table.num_rows
    own_ids = optional_texts(table, ids) if ids else ("",) * table.num_rows
    rows = zip(own_ids, optional_texts(table, classes), locations, checksums, strict=True)
    candidates = []
    for number, (own_id, class_name, place, checksum) in enumerate(rows):
        metadata = {name: values[number].strip() for name, values in columns.items()}
        location = downloaded_name(place) if is_remote else place
        default_id = (metadata.get("source_id") or location) if is_remote else place
        image = own_id.strip() or default_id or f"row {number + 1}"
        url = place if is_remote else ""
        candidates.append(PoolCandidate(image, class_name.strip(), location, metadata, url, checksum.strip().lower()))
    return PoolSource("folder" if is_remote else "manifest", path, tuple(candidates), notes, is_remote)


def _location_column(table: pa.Table, path: Path) -> str:
    """The column of paths or URLs; paths are preferred if any of their files exists."""
    url = column_named(table, *_URL_COLUMNS)
    stated = column_named(table, *STATED_PATHS)
    if stated is not None:
        places = optional_texts(table, stated)
        if url is None or missing_files(path.parent, places) < len(places):
            return stated
    column = url or path_column(table)
    if column is None:
        raise FormatError(f"{path} has no column with the path or URL of each candidate: name it path or url")
    return column


def _plain_name(name: str) -> str:
    return "_".join(name.casefold().replace("-", " ").split())


def _is_url(text: str) -> bool:
    return text.lower().startswith(("http://", "https://"))
