"""Files of text embeddings: concepts of WordNet with their parents, as .npz or .parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from regrade.classes import Vocabulary, unit_rows
from regrade.core import FormatError, Hierarchy
from regrade.core.arrays import FloatArray

_COLUMNS = ("id", "parents", "embedding")


def read_vocabulary(path: Path) -> Vocabulary:
    """Read ids, parents (ids separated by blanks) and embeddings: arrays of an .npz file, columns of a .parquet file.

    Embeddings are scaled to length 1. A concept without parents has an empty text or none. A file with other names,
    repeated ids or values that are not finite raises.
    """
    readers = {".npz": _arrays, ".parquet": _columns}
    if path.suffix.lower() not in readers:
        raise FormatError(f"{path}: expected a vocabulary that ends in .npz or .parquet")
    if not path.is_file():
        raise FormatError(f"{path}: there is no such file")
    try:
        ids, parents, rows = readers[path.suffix.lower()](path)
        embeddings = np.asarray(rows, dtype=np.float32)
    except (OSError, TypeError, ValueError, BadZipFile, pa.ArrowException) as error:
        raise FormatError(f"{path}: cannot be read as a vocabulary: {error}") from None
    _check(path, ids, parents, embeddings)
    above = {concept: tuple((text or "").split()) for concept, text in zip(ids, parents, strict=True)}
    return Vocabulary(tuple(ids), unit_rows(embeddings), Hierarchy(above, {}))


def _arrays(path: Path) -> tuple[Any, Any, Any]:
    with np.load(path, allow_pickle=False) as content:
        _check_names(path, content.files)
        return np.atleast_1d(content["id"]).tolist(), np.atleast_1d(content["parents"]).tolist(), content["embedding"]


def _columns(path: Path) -> tuple[Any, Any, Any]:
    table = pq.read_table(path)
    _check_names(path, table.column_names)
    rows = table["embedding"].to_pylist()
    if len({len(row) for row in rows}) > 1:
        raise FormatError(f"{path}: the embeddings differ in length")
    return table["id"].to_pylist(), table["parents"].to_pylist(), rows


def _check_names(path: Path, names: list[str]) -> None:
    missing = [name for name in _COLUMNS if name not in names]
    if missing:
        raise FormatError(f"{path}: a vocabulary needs {', '.join(_COLUMNS)}; {', '.join(missing)} missing")


def _check(path: Path, ids: list[Any], parents: list[Any], embeddings: FloatArray) -> None:
    if not all(isinstance(text, str) for text in (*ids, *(above for above in parents if above is not None))):
        raise FormatError(f"{path}: ids and parents must be texts, such as n02084071")
    if len(parents) != len(ids):
        raise FormatError(f"{path}: {len(ids):,} ids, but {len(parents):,} texts with parents")
    if embeddings.ndim != 2 or len(embeddings) != len(ids) or not len(ids):
        raise FormatError(f"{path}: {len(ids):,} ids, but embeddings of shape {embeddings.shape}")
    if len(set(ids)) < len(ids):
        repeated = next(concept for concept in ids if ids.count(concept) > 1)
        raise FormatError(f"{path}: the id {repeated!r} occurs twice")
    finite = np.isfinite(embeddings).all(axis=1) & (np.abs(embeddings).sum(axis=1) > 0)
    if not finite.all():
        raise FormatError(f"{path}: the embedding of {ids[int(np.argmin(finite))]!r} is 0 or not finite")
