"""Images listed in a table with labels and groups: as paths, or as encoded images in Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from regrade.core import FileStamp, FormatError, Images, ImageSource, InputError, StoredImage, UnreadableImage
from regrade.tables import TABLE_SUFFIXES, Columns, check_file, read_examples, read_table, texts, why_unreadable
from regrade.testsets.folder import FileImages, image_places
from regrade.testsets.reader import (
    Reader,
    ReaderOptions,
    ReaderResult,
    check_still_there,
    file_stamp,
    is_file,
    missing_files,
)

STATED_PATHS = ("path", "file_name")
PATH_COLUMNS = (*STATED_PATHS, "file", "filename", "image")
IMAGE_COLUMNS = ("image", "img", "bytes", "jpeg", "png")


class ManifestReader(Reader):
    """A CSV, TSV, JSON lines or Parquet table with the path of each image, relative to the table, and its label."""

    name = "manifest"

    def recognizes(self, path: Path) -> bool:
        """A table with a column path or file_name, or another path column whose first entry is an existing file."""
        if path.suffix.lower() not in TABLE_SUFFIXES or _holds_images(path):
            return False
        table = read_table(path)
        places = path_column(table)
        if places is None:
            return False
        return places.casefold() in STATED_PATHS or is_file(path.parent, str(table[places][0].as_py()))

    def find(self, path: Path, options: ReaderOptions) -> ReaderResult:
        """One example per row; the id is the id column, or the path. Raise if all images are missing."""
        table = read_table(path)
        places = path_column(table)
        if places is None:
            raise FormatError(f"{path} has no column of paths: name it path")
        options.refuse_flat(table, path)
        examples = read_examples(table, options.space, options.columns)
        locations = texts(table, places)
        missing = missing_files(path.parent, locations)
        if missing == len(locations):
            raise InputError(
                f"none of the {missing:,} images listed in {path} exists, for example {locations[0]!r}: paths are "
                f"relative to the table; for a table without images, name the column image instead of {places}"
            )
        notes = options.columns.ignored_in(table, places)
        return ReaderResult(examples.ids, examples.labels, locations, examples.groups, missing, notes)

    def open(self, source: ImageSource) -> Images:
        """Open images by their paths relative to the table."""
        folder = source.path.parent
        check_still_there(folder)
        return FileImages(folder, source.locations)


class ParquetReader(Reader):
    """Parquet files with encoded images, in the format of Hugging Face (image.bytes), and labels."""

    name = "parquet"

    def recognizes(self, path: Path) -> bool:
        """A Parquet file with a column of images, or a folder of such files without other images."""
        files = _files(path)
        if not files or not _holds_images(files[0]):
            return False
        return path.is_file() or next(image_places(path), None) is None

    def find(self, path: Path, options: ReaderOptions) -> ReaderResult:
        """One example per row; the id is the id column, the path stored with the image, or file and row."""
        parts = [part for part in map(_part, _files(path)) if part.places]
        if not parts:
            raise FormatError(f"{path} has no rows")
        columns = options.columns
        tables = [part.table for part in parts]
        if not columns.id and columns.usual_id_in(tables[0]) is None:
            columns = Columns("example", columns.label, columns.groups, columns.reading)
            tables = [
                table.append_column("example", pa.array(ids)) for table, ids in zip(tables, _ids(parts), strict=True)
            ]
        table = _joined(tables, path)
        options.refuse_flat(table, path)
        examples = read_examples(table, options.space, columns)
        locations = tuple(place for part in parts for place in part.places)
        notes = columns.ignored_in(table)
        return ReaderResult(examples.ids, examples.labels, locations, examples.groups, notes=notes)

    def open(self, source: ImageSource) -> Images:
        """Open images by file and row."""
        check_still_there(source.path)
        return ParquetImages(source.path, source.locations)


@dataclass(frozen=True)
class ParquetImages(Images):
    """Images inside Parquet files, read one row group at a time; the last group stays in memory."""

    root: Path
    places: Sequence[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "_last", _LastGroup())

    def __reduce__(self) -> tuple[Any, ...]:
        return ParquetImages, (self.root, self.places)

    def read(self, position: int) -> StoredImage:
        """The encoded image at a position."""
        name, group, row = self.places[position].rsplit(":", 2)
        folder = self.root if self.root.is_dir() else self.root.parent
        column = self._last.column(folder / name, int(group))  # type: ignore[attr-defined]
        cell = column[int(row)].as_py() if int(row) < len(column) else None
        data = cell.get("bytes") if isinstance(cell, dict) else cell
        if not isinstance(data, bytes):
            raise UnreadableImage(f"row {int(row) + 1} of row group {int(group) + 1} of {name} contains no image")
        return data

    def stamp(self, position: int) -> FileStamp | None:
        """The stamp of the Parquet file that contains an image."""
        folder = self.root if self.root.is_dir() else self.root.parent
        return file_stamp(folder / self.places[position].rsplit(":", 2)[0])


class _LastGroup:
    """A cache of the images of the last row group that was read."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._key: tuple[Path, int] | None = None
        self._column: Any = None

    def column(self, path: Path, group: int) -> Any:
        with self._lock:
            if self._key != (path, group):
                self._key, self._column = None, None  # free the old group before the new one is read
                self._column = _read_group(path, group)
                self._key = (path, group)
            return self._column


def _read_group(path: Path, group: int) -> Any:
    try:
        with pq.ParquetFile(path) as file:
            name = image_column(file.schema_arrow)
            if name is None or group >= file.num_row_groups:
                raise UnreadableImage(f"{path.name} has changed: it has no row group {group} of images")
            return file.read_row_group(group, columns=[name]).column(0).combine_chunks()
    except (OSError, pa.ArrowException, UnicodeError) as error:
        raise UnreadableImage(f"{path.name}: {why_unreadable(error, 'Parquet')}") from None


def path_column(table: pa.Table) -> str | None:
    """The column of paths: the first usual name that the table has, ignoring case."""
    named = {name.casefold(): name for name in reversed(table.column_names)}
    return next((named[name] for name in PATH_COLUMNS if name in named), None)


def image_column(schema: pa.Schema) -> str | None:
    """The column of encoded images: one with a usual name, or the only struct column with bytes.

    A name that occurs twice is ignored.
    """
    places = {name: place for name in IMAGE_COLUMNS if (place := schema.get_field_index(name)) >= 0}
    usual = next((name for name, place in places.items() if _may_hold(schema.field(place).type)), None)
    if usual is not None:
        return usual
    pairs = [field.name for field in schema if pa.types.is_struct(field.type) and _may_hold(field.type)]
    return pairs[0] if len(pairs) == 1 else None


def _may_hold(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind):
        return kind.get_field_index("bytes") >= 0
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind)


def _holds_images(path: Path) -> bool:
    try:
        return path.is_file() and image_column(pq.read_schema(path)) is not None
    except (OSError, pa.ArrowException, UnicodeError):
        return False


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(file for file in path.glob("*.parquet") if not file.name.startswith("."))
    return [path] if path.suffix.lower() == ".parquet" else []


@dataclass(frozen=True)
class _Part:
    """One file: all columns but the images, the location of each row, and the paths stored with the images."""

    table: pa.Table
    places: tuple[str, ...]
    paths: tuple[str | None, ...]


def _part(file: Path) -> _Part:
    check_file(file)
    try:
        with pq.ParquetFile(file) as parquet:
            names = parquet.schema_arrow.names
            if len(set(names)) < len(names):
                repeated = next(name for name in names if names.count(name) > 1)
                raise FormatError(f"{file} has the column {repeated!r} twice")
            images = image_column(parquet.schema_arrow)
            if images is None:
                raise FormatError(f"{file} has no column of images")
            table = parquet.read(columns=[name for name in names if name != images])
            return _Part(_plain(table), tuple(_places(file.name, parquet)), _own_paths(parquet, images))
    except (OSError, pa.ArrowException, UnicodeError) as error:
        raise FormatError(f"{file} cannot be read as Parquet: {why_unreadable(error, 'Parquet')}") from None


def _places(name: str, parquet: pq.ParquetFile) -> list[str]:
    return [
        f"{name}:{group}:{row}"
        for group in range(parquet.num_row_groups)
        for row in range(parquet.metadata.row_group(group).num_rows)
    ]


def _plain(table: pa.Table) -> pa.Table:
    """Replace dictionary columns, such as pandas categories, by their values."""
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(place, field.name, table.column(place).cast(field.type.value_type))
    return table


def _joined(tables: Sequence[pa.Table], path: Path) -> pa.Table:
    try:
        return pa.concat_tables(tables)
    except pa.ArrowException:
        raise FormatError(f"the files of {path} do not have the same columns: {_difference(tables)}") from None


def _difference(tables: Sequence[pa.Table]) -> str:
    """The first difference between the columns of the first file and of another one."""
    first = tables[0].schema
    number, schema = next((i, table.schema) for i, table in enumerate(tables, start=1) if table.schema != first)
    for name in dict.fromkeys((*first.names, *schema.names)):
        types = [f"{columns.field(name).type}" if name in columns.names else "missing" for columns in (first, schema)]
        if types[0] != types[1]:
            return f"{name!r} is {types[0]} in the first and {types[1]} in file {number}"
    return f"their order differs in file {number}"


def _ids(parts: Sequence[_Part]) -> list[tuple[str, ...]]:
    """The paths stored with the images if every image has a unique path, otherwise their locations."""
    paths = [path for part in parts for path in part.paths]
    own = all(paths) and len(set(paths)) == len(paths)
    return [tuple(path or "" for path in part.paths) if own else part.places for part in parts]


def _own_paths(parquet: pq.ParquetFile, images: str) -> tuple[str | None, ...]:
    kind = parquet.schema_arrow.field(images).type
    if not pa.types.is_struct(kind) or kind.get_field_index("path") < 0:
        return (None,) * parquet.metadata.num_rows
    return tuple(parquet.read(columns=[f"{images}.path"]).column(0).combine_chunks().field("path").to_pylist())
