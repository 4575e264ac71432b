"""Reading a table from any file or folder that holds one, by its extension."""

from __future__ import annotations

import gzip
import shutil
import tempfile
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from regrade.core import FormatError, InputError
from regrade.tables.dataset_folders import read_dataset_file, read_dataset_folder
from regrade.tables.files import check_file, is_list, read_table
from regrade.tables.json_tables import read_json_table
from regrade.tables.list_cells import with_list_columns


def read_any_table(path: Path, *, split: str = "") -> pa.Table:
    """Read a table from CSV, TSV, Parquet, JSON or JSON lines, also compressed with gzip, or from a dataset folder.

    A folder contains the files of a dataset of the Hugging Face library, of which ``split`` is read. Cells of text
    that contain lists become lists.
    """
    if path.is_dir():
        return read_dataset_folder(path, split=split)
    if split:
        raise InputError(f"{path} is a file, and --split chooses a split of a folder: omit it")
    suffix = path.suffix.lower()
    if suffix == ".gz":
        return _unzipped(path)
    table = read_dataset_file(path) if suffix == ".parquet" else None
    if table is None:
        table = read_json_table(path) if suffix == ".json" else read_table(path)
    try:
        return _without_pairs(with_list_columns(table))
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None


def _without_pairs(table: pa.Table) -> pa.Table:
    """A table in which lists of objects with label and score, as pipelines of transformers return, are two columns."""
    columns = dict(zip(table.column_names, table.columns, strict=True))
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type.value_type if is_list(column.type) else None
        if kind is not None and pa.types.is_struct(kind) and {"label", "score"} <= {field.name for field in kind}:
            pairs = column.combine_chunks()
            inside = {key: pc.struct_field(pairs.values, key) for key in ("label", "score")}
            columns[name] = pa.chunked_array([pa.ListArray.from_arrays(pairs.offsets, inside["label"])])
            columns["scores"] = pa.chunked_array([pa.ListArray.from_arrays(pairs.offsets, inside["score"])])
    return pa.table(columns)


def _unzipped(path: Path) -> pa.Table:
    check_file(path)
    with tempfile.TemporaryDirectory() as folder:
        inside = Path(folder) / path.stem
        try:
            with gzip.open(path) as source, inside.open("wb") as target:
                shutil.copyfileobj(source, target)
        except (OSError, EOFError, zlib.error):
            raise FormatError(f"{path} cannot be unzipped: it is truncated or damaged, or is not gzip") from None
        try:
            return read_any_table(inside)
        except InputError as error:
            raise type(error)(str(error).replace(str(inside), str(path))) from None
