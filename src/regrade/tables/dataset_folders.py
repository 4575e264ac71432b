"""Datasets of the Hugging Face library: shards in a folder, class names and images in the schema."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from regrade.core import FormatError, InputError
from regrade.tables.files import why_unreadable

_SHARD = re.compile(r"(.+?)-\d{5}-of-\d{5}$")
_WHOLE = "data"  # the name of the shards of a dataset without splits
_METADATA = b"huggingface"
_NO_LABEL = -1


def read_dataset_folder(path: Path, *, split: str = "") -> pa.Table:
    """Read the Parquet or Arrow shards of a split below a folder; ``split`` is required if there are several."""
    shards = _shards(path)
    if not shards:
        raise InputError(f"{path} is a folder without Parquet or Arrow files: expected a file of predictions")
    if split and split not in shards:
        raise InputError(f"{path} has no split {split!r}: it has {', '.join(shards)}")
    if not split and len(shards) > 1:
        raise InputError(f"{path} has the splits {', '.join(shards)}: choose one with --split")
    tables = [_read_shard(file) for file in shards[split or next(iter(shards))]]
    if any(table.schema.names != tables[0].schema.names for table in tables):
        raise FormatError(f"{path}: the files of the split have different columns")
    return pa.concat_tables(tables, promote_options="permissive").combine_chunks()


def read_dataset_file(path: Path) -> pa.Table | None:
    """Read a Parquet file that the library has written; None if it was written otherwise."""
    try:
        metadata = pq.read_schema(path).metadata or {}
    except (pa.ArrowException, OSError):
        return None
    return _read_shard(path) if _METADATA in metadata else None


def _shards(path: Path) -> dict[str, list[Path]]:
    """Files by split, in order; hidden files and the caches of the library are skipped."""
    files = sorted(file for file in path.rglob("*") if file.suffix.lower() in (".parquet", ".arrow"))
    shards: dict[str, list[Path]] = {}
    for file in files:
        inside = file.relative_to(path).parts
        if not any(part.startswith((".", "cache-")) for part in inside):
            shards.setdefault(_split(file, path), []).append(file)
    return shards


def _split(file: Path, root: Path) -> str:
    """The split of a file, by its name or its folder: test-00000-of-00001.parquet, test/0000.parquet."""
    match = _SHARD.match(file.stem)
    name = match[1] if match else file.stem
    return file.parent.name if (name == _WHOLE or name.isdigit()) and file.parent != root else name


def _read_shard(file: Path) -> pa.Table:
    try:
        if file.suffix.lower() == ".arrow":
            with pa.memory_map(str(file)) as source:
                table = pa.ipc.open_stream(source).read_all()
        else:
            table = pq.ParquetFile(file).read(columns=_columns(pq.read_schema(file)))
    except (pa.ArrowException, OSError) as error:
        raise FormatError(f"{file} cannot be read: {why_unreadable(error, 'Parquet or Arrow')}") from None
    return _decoded(table)


def _columns(schema: pa.Schema) -> list[str]:
    """The columns to read: of images only their paths."""
    return [f"{field.name}.path" if _is_image(field.type) else field.name for field in schema]


def _is_image(kind: pa.DataType) -> bool:
    return bool(pa.types.is_struct(kind) and {"bytes", "path"} <= {field.name for field in kind})


def _decoded(table: pa.Table) -> pa.Table:
    """Class indices as the class names of the schema, and images as their paths; empty columns are left out."""
    names_of = _class_names(table.schema.metadata or {})
    columns: dict[str, pa.ChunkedArray] = {}
    for name in table.column_names:
        column = table[name]
        if pa.types.is_struct(column.type) and "path" in [field.name for field in column.type]:
            column = pc.struct_field(column, "path")
        if name in names_of:
            column = _named(column, names_of[name], name)
        if column.null_count < len(column):
            columns[name] = column
    return pa.table(columns)


def _class_names(metadata: Mapping[bytes, bytes]) -> dict[str, list[str]]:
    """The class names of columns of class labels, or of lists of them."""
    try:
        features = json.loads(metadata[_METADATA])["info"]["features"]
    except (KeyError, TypeError, ValueError):
        return {}
    innermost = {name: _innermost(feature) for name, feature in features.items()}
    return {name: list(map(str, own["names"])) for name, own in innermost.items() if own.get("_type") == "ClassLabel"}


def _innermost(feature: Any) -> Mapping[str, Any]:
    while isinstance(feature, dict) and isinstance(feature.get("feature"), dict):
        feature = feature["feature"]
    return feature if isinstance(feature, dict) else {}


def _named(column: pa.ChunkedArray, names: list[str], name: str) -> pa.ChunkedArray:
    """The class names of indices, or of lists of indices; -1 becomes an empty cell."""
    chunks = []
    for chunk in column.chunks:
        nested = pa.types.is_list(chunk.type) or pa.types.is_large_list(chunk.type)
        indices = chunk.values if nested else chunk
        if pc.max(indices).as_py() is not None and not _NO_LABEL <= pc.max(indices).as_py() < len(names):
            raise FormatError(f"column {name!r} has a class index outside its {len(names):,} class names")
        known_indices = pc.if_else(pc.equal(indices, _NO_LABEL), None, indices)
        texts = pa.array(names).take(known_indices)
        chunks.append(pa.ListArray.from_arrays(chunk.offsets.cast(pa.int32()), texts) if nested else texts)
    return pa.chunked_array(chunks)
