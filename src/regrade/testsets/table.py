"""Pictures listed in a table: paths, or the encoded pictures themselves, with labels and groups."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from regrade.core import FormatError, Picture, Pictures, PictureSource, UnreadablePicture
from regrade.tables import TABLE_SUFFIXES, Columns, Examples, read_examples, read_table
from regrade.testsets.folder import FilePictures
from regrade.testsets.reader import Found, Reader, Wanted

STATED_PATHS = ("path", "file_name")
PATH_COLUMNS = (*STATED_PATHS, "file", "filename", "image")
PICTURE_COLUMNS = ("image", "picture", "bytes", "jpeg", "png")


class ManifestReader(Reader):
    """A CSV, TSV, JSON lines or Parquet table with a path an example, relative to the table, and its label."""

    name = "manifest"

    def recognises(self, path: Path) -> bool:
        """A table that names pictures: by a column called path or file_name, or one whose first entry is a file."""
        if path.suffix.lower() not in TABLE_SUFFIXES or _holds_pictures(path):
            return False
        table = read_table(path)
        places = _path_column(table)
        if places is None:
            return False
        return places in STATED_PATHS or (path.parent / str(table[places][0].as_py())).is_file()

    def find(self, path: Path, wanted: Wanted) -> Found:
        """One example a row; its id is the id column, or the path."""
        table = read_table(path)
        places = _path_column(table)
        if places is None:
            raise FormatError(f"{path}: there is no column with paths: call it path")
        examples = read_examples(table, wanted.space, wanted.columns)
        locations = tuple(str(place) for place in table[places].to_pylist())
        return Found(examples.ids, examples.labels, locations, examples.groups)

    def open(self, source: PictureSource) -> Pictures:
        """Pictures by their paths beside the table."""
        return FilePictures(Path(source.root).parent, source.locations)


class ParquetReader(Reader):
    """Parquet files with the encoded pictures inside, as Hugging Face writes them (image.bytes), and labels."""

    name = "parquet"

    def recognises(self, path: Path) -> bool:
        """A Parquet file with a column of pictures, or a folder of such files."""
        files = _files(path)
        return bool(files) and _holds_pictures(files[0])

    def find(self, path: Path, wanted: Wanted) -> Found:
        """One example a row; its id is the id column, the picture's own path, or file and row."""
        parts = [_examples(file, wanted) for file in _files(path)]
        ids = tuple(i for part, _ in parts for i in part.ids)
        labels = [part.labels for part, _ in parts]
        groups = {
            name: tuple(value for part, _ in parts for value in part.groups[name]) for name in wanted.columns.groups
        }

        joined = (
            None if any(label is None for label in labels) else np.concatenate([x for x in labels if x is not None])
        )
        return Found(ids, joined, tuple(place for _, places in parts for place in places), groups)

    def open(self, source: PictureSource) -> Pictures:
        """Pictures by file and row."""
        return ParquetPictures(Path(source.root), source.locations)


@dataclass(frozen=True)
class ParquetPictures(Pictures):
    """Pictures inside Parquet files, read a row group at a time; the last group stays in memory."""

    root: Path
    places: tuple[str, ...]

    def read(self, position: int) -> Picture:
        """The bytes of a picture."""
        name, group, row = self.places[position].rsplit(":", 2)
        cell = self._group(name, int(group))[int(row)].as_py()
        data = cell.get("bytes") if isinstance(cell, dict) else cell
        if not isinstance(data, bytes):
            raise UnreadablePicture(f"row {row} of group {group} of {name} holds no picture")
        return data

    def _group(self, name: str, group: int) -> Any:
        with self._lock:
            if self._cached.get("key") != (name, group):
                folder = self.root if self.root.is_dir() else self.root.parent
                try:
                    file = pq.ParquetFile(folder / name)
                    column = file.read_row_group(group, columns=[picture_column(file.schema_arrow) or ""])
                except (OSError, pa.ArrowException) as error:
                    raise UnreadablePicture(f"{name}: {str(error).partition(chr(10))[0]}") from None
                self._cached.update(key=(name, group), column=column.column(0).combine_chunks())
            return self._cached["column"]

    @cached_property
    def _cached(self) -> dict[str, Any]:
        return {}

    @cached_property
    def _lock(self) -> Lock:
        return Lock()

    def __getstate__(self) -> dict[str, object]:
        return {"root": self.root, "places": self.places}


def _path_column(table: pa.Table) -> str | None:
    return next((name for name in PATH_COLUMNS if name in table.column_names), None)


def picture_column(schema: pa.Schema) -> str | None:
    """The column of a table that holds encoded pictures, if there is one."""
    for name in (n for n in PICTURE_COLUMNS if n in schema.names):
        kind = schema.field(name).type
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            return name
        if pa.types.is_struct(kind) and kind.get_field_index("bytes") >= 0:
            return name
    return None


def _holds_pictures(path: Path) -> bool:
    try:
        return path.is_file() and picture_column(pq.read_schema(path)) is not None
    except (OSError, pa.ArrowException):
        return False


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(path.glob("*.parquet"))
    return [path] if path.suffix == ".parquet" else []


def _examples(file: Path, wanted: Wanted) -> tuple[Examples, tuple[str, ...]]:
    parquet = pq.ParquetFile(file)
    pictures = picture_column(parquet.schema_arrow)
    if pictures is None:
        raise FormatError(f"{file} has no column of pictures")
    table = parquet.read(columns=[name for name in parquet.schema_arrow.names if name != pictures])
    places = tuple(
        f"{file.name}:{group}:{row}"
        for group in range(parquet.num_row_groups)
        for row in range(parquet.metadata.row_group(group).num_rows)
    )
    columns = wanted.columns
    if not columns.id and columns.usual_id_in(table) is None:
        ids = _own_paths(parquet, pictures) or places
        table = table.append_column("example", pa.array(ids))
        columns = Columns("example", columns.label, columns.groups, columns.reading)
    return read_examples(table, wanted.space, columns), places


def _own_paths(parquet: pq.ParquetFile, pictures: str) -> tuple[str, ...] | None:
    """The paths that come with the pictures, where each has one of its own."""
    kind = parquet.schema_arrow.field(pictures).type
    if not pa.types.is_struct(kind) or kind.get_field_index("path") < 0:
        return None
    paths = parquet.read(columns=[f"{pictures}.path"]).column(0).combine_chunks().field("path").to_pylist()
    return tuple(paths) if all(paths) and len(set(paths)) == len(paths) else None
