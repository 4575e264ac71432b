"""One model's or person's predictions on one test set as a folder: manifest, top-k table, and what else there is."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from regrade.core import (
    TIE_RULE,
    Answerer,
    AnswerTimes,
    FormatError,
    ModelSpec,
    Predictions,
    ScoreKind,
    TestSet,
)
from regrade.store.array_file import open_array, write_array
from regrade.store.atomic import Staging
from regrade.tables import number_array, text_array

MANIFEST = "manifest.json"
TOP_K = "topk.parquet"
FULL_SCORES = "scores.npy"
FEATURES = "features.npy"
TIMES = "times.parquet"
FINGERPRINTS = "fingerprints.npy"
_REPEATED = ["classes.list.element"]  # a dictionary of what hardly repeats makes the file larger, and takes memory
_ROWS = 1 << 14  # that are in memory in the form of the file


@dataclass(frozen=True)
class Source:
    """Where predictions came from: the name and hash of a file, or nothing for a run or a ledger."""

    file: str = ""
    sha256: str = ""


@dataclass(frozen=True)
class Manifest:
    """What stands behind stored predictions, one field a line of manifest.json.

    ``asked`` counts the examples that a person was asked about, none where it was all of them. ``queues`` are those of
    the ledger whose answers they are; none for what came from a file or a run. ``fingerprints`` says whether those of
    the images are stored, and ``retries`` when images that had been unreadable were computed later.
    """

    model: ModelSpec
    test_set: str
    test_set_digest: str
    class_space: str
    class_space_digest: str
    examples: int
    k: int
    digest: str
    score_kind: str | None
    full_scores: bool
    source: Source
    regrade: str
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    ties: str = TIE_RULE
    precision: str = "top k taken before any rounding; full scores and features are stored in half precision"
    runtime: str = ""
    runtime_note: str = ""
    features: bool = False
    unreadable: dict[str, str] = field(default_factory=dict)
    by: str = Answerer.MODEL.value
    asked: int | None = None
    times: bool = False
    queues: tuple[str, ...] = ()
    fingerprints: bool = False
    retries: tuple[str, ...] = ()
    format: int = 1


def stage_predictions(
    staging: Staging, folder: Path, predictions: Predictions, test_set: TestSet, manifest: Manifest
) -> None:
    """Fill a staged folder; the manifest goes last, so that a folder with one is whole."""
    table = _top_k_table(predictions, test_set)
    staging.write(folder / TOP_K, lambda file: _write_top_k(file, table))
    for name, values in ((FULL_SCORES, predictions.full_scores), (FEATURES, predictions.features)):
        if values is not None:
            halves = values.astype(np.float16, copy=False)
            staging.write(folder / name, partial(write_array, values=halves))
    if predictions.fingerprints is not None:
        staging.write(folder / FINGERPRINTS, partial(write_array, values=predictions.fingerprints))
    if predictions.times is not None:
        times = _times_table(predictions.times, test_set)
        staging.write(folder / TIMES, lambda file: pq.write_table(times, file, compression="zstd"))
    text = json.dumps(asdict(manifest), indent=2) + "\n"
    staging.write(folder / MANIFEST, lambda file: _write_text(file, text))


def read_manifest(folder: Path) -> Manifest:
    """Read and check manifest.json."""
    path = folder / MANIFEST
    try:
        raw: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        model, source = ModelSpec(**raw["model"]), Source(**raw["source"])
        lists = {name: tuple(raw.get(name, ())) for name in ("queues", "retries")}
        return Manifest(**{**raw, "model": model, "source": source, **lists})
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise FormatError(f"{path} cannot be read: {error}") from None


def read_predictions(folder: Path) -> Predictions:
    """Read predictions back, full scores and features as memory maps."""
    manifest = read_manifest(folder)
    try:
        with pq.ParquetFile(folder / TOP_K) as file:
            table = file.read(columns=_wanted(manifest), use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise FormatError(f"{folder / TOP_K} cannot be read: {error}") from None
    shape = (manifest.examples, manifest.k)
    try:
        return Predictions(
            manifest.model.name,
            manifest.test_set,
            manifest.class_space,
            _flat(table["classes"]).reshape(shape),
            _flat(table["scores"]).reshape(shape) if "scores" in table.column_names else None,
            open_array(folder / FULL_SCORES) if manifest.full_scores else None,
            ScoreKind(manifest.score_kind) if manifest.score_kind else None,
            open_array(folder / FEATURES) if manifest.features else None,
            Answerer(manifest.by),
            number_array(table["asked"]) if "asked" in table.column_names else None,
            _read_times(folder / TIMES) if manifest.times else None,
            open_array(folder / FINGERPRINTS) if manifest.fingerprints else None,
        )
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise FormatError(f"{folder} is damaged: {error}") from None


def _top_k_table(predictions: Predictions, test_set: TestSet) -> pa.Table:
    small = predictions.classes.max(initial=0) <= np.iinfo(np.int16).max
    columns = {
        "example": text_array(test_set.ids),
        "classes": _lists(predictions.classes.astype(np.int16 if small else np.int32)),
    }
    if predictions.scores is not None:
        columns["scores"] = _lists(predictions.scores.astype(np.float32, copy=False))
    if predictions.asked is not None:
        columns["asked"] = pa.array(predictions.asked)
    return pa.table(columns)


def _write_top_k(file: BinaryIO, table: pa.Table) -> None:
    pq.write_table(table, file, compression="zstd", use_dictionary=_REPEATED, row_group_size=_ROWS)


def _wanted(manifest: Manifest) -> list[str]:
    optional = {"scores": manifest.score_kind is not None, "asked": manifest.asked is not None}
    return ["classes", *(name for name, there in optional.items() if there)]


def _times_table(times: AnswerTimes, test_set: TestSet) -> pa.Table:
    """Start and end of each answer in seconds, empty where they are not known."""
    columns = {name: pa.array(getattr(times, name), from_pandas=True) for name in ("start", "end")}
    return pa.table({"example": text_array(test_set.ids), **columns})


def _read_times(path: Path) -> AnswerTimes:
    table = pq.read_table(path, columns=["start", "end"])
    return AnswerTimes(*(table[name].to_numpy().astype(np.float64) for name in ("start", "end")))


def _lists(values: np.ndarray[Any, Any]) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])


def _flat(column: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    return number_array(column.combine_chunks().flatten())


def _write_text(file: BinaryIO, text: str) -> None:
    file.write(text.encode())
