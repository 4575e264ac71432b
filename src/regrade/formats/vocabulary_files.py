"""Files of text embeddings: concepts of WordNet with their parents, as .npz or .parquet."""

from __future__ import annotations

from pathlib import Path
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

    Embeddings are scaled to length 1. A file with other names, repeated ids or values that are not finite raises.
    """
    readers = {".npz": _arrays, ".parquet": _columns}
    if path.suffix.lower() not in readers:
        raise FormatError(f"{path}: expected a vocabulary that ends in .npz or .parquet")
    if not path.is_file():
        raise FormatError(f"{path}: there is no such file")
    try:
        ids, parents, embeddings = readers[path.suffix.lower()](path)
    except (OSError, ValueError, BadZipFile, pa.ArrowException) as error:
        raise FormatError(f"{path}: cannot be read as a vocabulary: {error}") from None
    _check(path, ids, embeddings)
    above = {concept: tuple(text.split()) for concept, text in zip(ids, parents, strict=True)}
    return Vocabulary(ids, unit_rows(embeddings), Hierarchy(above, {}))


def _arrays(path: Path) -> tuple[tuple[str, ...], list[str], FloatArray]:
    with np.load(path, allow_pickle=False) as content:
        _check_names(path, content.files)
        return (
            tuple(map(str, content["id"].tolist())),
            [str(text) for text in content["parents"].tolist()],
            content["embedding"],
        )


def _columns(path: Path) -> tuple[tuple[str, ...], list[str], FloatArray]:
    table = pq.read_table(path)
    _check_names(path, table.column_names)
    rows = table["embedding"].to_pylist()
    if len({len(row) for row in rows}) > 1:
        raise FormatError(f"{path}: the embeddings differ in length")
    return tuple(table["id"].to_pylist()), table["parents"].to_pylist(), np.array(rows, dtype=np.float32)


def _check_names(path: Path, names: list[str]) -> None:
    missing = [name for name in _COLUMNS if name not in names]
    if missing:
        raise FormatError(f"{path}: a vocabulary needs {', '.join(_COLUMNS)}; {', '.join(missing)} missing")


def _check(path: Path, ids: tuple[str, ...], embeddings: FloatArray) -> None:
    if embeddings.ndim != 2 or len(embeddings) != len(ids) or not len(ids):
        raise FormatError(f"{path}: {len(ids):,} ids, but embeddings of shape {embeddings.shape}")
    if len(set(ids)) < len(ids):
        repeated = next(concept for concept in ids if ids.count(concept) > 1)
        raise FormatError(f"{path}: the id {repeated!r} occurs twice")
    finite = np.isfinite(embeddings).all(axis=1) & (np.abs(embeddings).sum(axis=1) > 0)
    if not finite.all():
        raise FormatError(f"{path}: the embedding of {ids[int(np.argmin(finite))]!r} is 0 or not finite")
