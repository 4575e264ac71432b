"""The predictions of models and answers of people as folders: manifest, top-k table, and optional arrays."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from regrade.core import (
    PERSON_PREFIX,
    TIE_RULE,
    Answerer,
    AnswerTimes,
    ClassSpace,
    DamagedFile,
    FormatError,
    ModelSpec,
    Predictions,
    ScoreKind,
    TestSet,
    Ties,
    UnknownName,
)
from regrade.core.amounts import amount
from regrade.store.array_file import StoredArray, write_array
from regrade.store.checked_files import Checksums, Metadata, read_checked, read_stored_json, stored_json
from regrade.store.collection import Collection, check_test_set
from regrade.store.file_errors import FIRST_MODEL, is_filled, lost
from regrade.store.layout import place_of
from regrade.store.transaction import Transaction
from regrade.tables import number_array, number_column, text_array

MANIFEST = "manifest.json"
TOP_K = "topk.parquet"
FULL_SCORES = "scores.npy"
FEATURES = "features.npy"
TIMES = "times.parquet"
FINGERPRINTS = "fingerprints.npy"
TIES = "ties.parquet"
_DICTIONARY_COLUMNS = ["classes.list.element"]  # a dictionary for the scores would make the file larger
_ROWS = 1 << 14  # per row group: limits the memory for writing


@dataclass(frozen=True)
class PredictionSource:
    """Where predictions came from: the name and hash of a file, or nothing for a run or a ledger."""

    file: str = ""
    sha256: str = ""


@dataclass(frozen=True)
class Manifest:
    """The content of manifest.json: the provenance of stored predictions, and the checksums of their files.

    ``asked`` is the number of examples that a person was asked about, or that a partial import has; None if all.
    ``queues`` are the queues of the ledger that the answers come from, empty for a file or a run. ``fingerprints`` says
    whether fingerprints of the images are stored. ``tied`` is the number of images with ties across the last stored
    place; before format 3, they were not stored. ``retries`` are the times at which unreadable images were computed
    again.
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
    source: PredictionSource
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
    tied: int = 0
    files: Mapping[str, Checksums] = field(default_factory=dict)
    format: int = 3


def manifest_of(
    predictions: Predictions,
    test_set: TestSet,
    space: ClassSpace,
    source: PredictionSource,
    *,
    queues: tuple[str, ...] = (),
) -> Manifest:
    """The manifest of predictions that were imported from a file or published from a ledger."""
    return Manifest(
        model=ModelSpec(predictions.model, space.name),
        test_set=test_set.name,
        test_set_digest=test_set.digest,
        class_space=space.name,
        class_space_digest=space.digest,
        examples=len(predictions),
        k=predictions.k,
        digest=predictions.digest,
        score_kind=predictions.score_kind.value if predictions.score_kind else None,
        full_scores=predictions.full_scores is not None,
        features=predictions.features is not None,
        source=source,
        regrade=_own_version(),
        by=predictions.by.value,
        asked=None if predictions.covered is None else int(predictions.covered.sum()),
        times=predictions.times is not None,
        fingerprints=predictions.fingerprints is not None,
        queues=queues,
        tied=tied_images(predictions),
    )


def tied_images(predictions: Predictions) -> int:
    """The number of images with ties across the last stored place."""
    return 0 if predictions.ties is None else len(predictions.ties)


@cache
def _own_version() -> str:
    """The version of regrade, cached: there may be thousands of manifests."""
    return version("regrade")


@dataclass
class PartialReads:
    """Models with predictions on some of the images only: how many of how many, by test set and model.

    ``read`` are those that were read, ``left_out`` those that were left out for that reason.
    """

    read: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    left_out: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)

    @property
    def notes(self) -> tuple[str, ...]:
        """What tables say about them."""
        return (
            *_in_words("predictions on some of the images only", self.read),
            *_in_words("left out, with predictions on some of the images only (name them to include)", self.left_out),
        )


def _in_words(what: str, models: Mapping[tuple[str, str], tuple[int, int]]) -> Iterator[str]:
    """One note per test set."""
    for test_set in dict.fromkeys(name for name, _ in models):
        counts = {model: count for (name, model), count in models.items() if name == test_set}
        size = amount(next(iter(counts.values()))[1], "image")
        words = ", ".join(f"{model} {asked:,}" for model, (asked, _) in counts.items())
        yield f"{what}: {words} of {size} of {test_set}"


class PredictionCollection(Collection[tuple[Predictions, Manifest], TestSet]):
    """The predictions of models and the answers of people on test sets, each with its manifest.

    Answers from a ledger may replace earlier ones, which the ledger still has. ``hidden`` models are not listed.
    """

    kind = "predictions"
    main_file = MANIFEST

    def __init__(self, root: Path, hidden: frozenset[str] = frozenset()) -> None:
        super().__init__(root)
        self._hidden = hidden
        self._watching: list[PartialReads] = []

    @contextmanager
    def watch_partial(self) -> Iterator[PartialReads]:
        """Collect which of the predictions that are read meanwhile are on some of the images only."""
        reads = PartialReads()
        self._watching.append(reads)
        try:
            yield reads
        finally:
            self._watching.remove(reads)

    def models_to_compare(self, test_set: str) -> tuple[str, ...]:
        """The models with predictions on all images; the others are noted as left out. All, if fewer than two remain.

        For analyses of the images that all models share: a model on few images would leave few to all of them.
        """
        models = self.model_names(test_set)
        partial = {
            (test_set, model): (manifest.asked, manifest.examples)
            for model in models
            if (manifest := self.manifest(test_set, model)).asked is not None
        }
        complete = tuple(model for model in models if (test_set, model) not in partial)
        if len(complete) < 2:
            return models
        for reads in self._watching:
            reads.left_out.update(partial)
        return complete

    def names_of(self, entry: tuple[Predictions, Manifest], _test_set: TestSet) -> tuple[str, ...]:
        """The names of the test set and of the model or person."""
        return entry[1].test_set, entry[1].model.name

    def refusal(self, entry: tuple[Predictions, Manifest], test_set: TestSet) -> str:
        """The error for other predictions of the same model."""
        _, model = self.names_of(entry, test_set)
        return (
            f"other predictions of {model!r} on {test_set.name} are stored: import under another name (--model or "
            f"--name, --prefix for many), or run {self.removal_command(test_set.name, model)} first"
        )

    def removal_command(self, test_set: str, model: str) -> str:
        """The command that removes predictions."""
        return shlex.join(("regrade", "models", "remove", model, "-t", test_set))

    def put(self, change: Transaction, entry: tuple[Predictions, Manifest], test_set: TestSet) -> None:
        """Stage a folder; the manifest is written last and contains the checksums of the other files."""
        predictions, manifest = entry
        folder, names = change.new_folder(), self.names_of(entry, test_set)
        writers = _writers(predictions, test_set)
        files = {name: Checksums.of_file(change.write(folder / name, write)) for name, write in writers.items()}
        content = {**asdict(manifest), "files": {name: stated.as_json() for name, stated in files.items()}}
        text = stored_json(content, place=f"{place_of(self.kind, *names)}/{MANIFEST}")
        change.write(folder / MANIFEST, lambda file: file.write(text))
        change.replace(folder, self.path(*names))

    def is_same(self, entry: tuple[Predictions, Manifest], test_set: TestSet) -> bool:
        """Whether the stored predictions have the same digest and ties, which older versions did not store."""
        stored = self.manifest(*self.names_of(entry, test_set))
        return (stored.digest, stored.tied) == (entry[1].digest, entry[1].tied)

    def may_replace(self, entry: tuple[Predictions, Manifest], test_set: TestSet) -> bool:
        """Whether both are answers from a ledger, or the same predictions, stored before ties were."""
        stored = self.manifest(*self.names_of(entry, test_set))
        return bool(entry[1].queues and stored.queues) or (stored.digest == entry[1].digest and not stored.tied)

    def model_names(self, test_set: str) -> tuple[str, ...]:
        """The names of the models, without people and without hidden models."""
        models = (name for name in self.names(test_set) if not name.startswith(PERSON_PREFIX))
        return tuple(name for name in models if name not in self._hidden)

    def people_names(self, test_set: str) -> tuple[str, ...]:
        """The names of the people."""
        return tuple(name for name in self.names(test_set) if name.startswith(PERSON_PREFIX))

    def check_manifests(self, test_set: str, names: Iterable[str]) -> None:
        """Raise if one of these models or people has predictions without a manifest, or was removed by hand."""
        for name in names:
            folder = self.path(test_set, name)
            if (folder / MANIFEST).is_file():
                continue
            if is_filled(folder):
                raise lost(folder / MANIFEST)
            self.refuse_lost(test_set, name)

    def manifest(self, test_set: str, model: str) -> Manifest:
        """The manifest of a model's predictions."""
        return read_manifest(self.path(test_set, model))

    def read(self, test_set: TestSet, model: str) -> Predictions:
        """Read predictions, with full scores and features as memory maps that are checked as they are used.

        Raises if they were made for another version of the test set.
        """
        folder = self.path(test_set.name, model)
        self.check_manifests(test_set.name, [model])
        if not (folder / MANIFEST).is_file():
            names = self.model_names(test_set.name)
            raise UnknownName(f"model on {test_set.name}", model, names, first=FIRST_MODEL)
        manifest = read_manifest(folder)
        check_test_set(folder, manifest.test_set_digest, test_set)
        if manifest.asked is not None and manifest.by == Answerer.MODEL.value:
            for reads in self._watching:
                reads.read[test_set.name, model] = manifest.asked, manifest.examples
        return _decoded(folder, manifest)


def _decoded(folder: Path, manifest: Manifest) -> Predictions:
    shape = (manifest.examples, manifest.k)
    try:
        table = _read_table(folder / TOP_K, manifest, _top_k_columns(manifest))
        return Predictions(
            manifest.model.name,
            manifest.test_set,
            manifest.class_space,
            _flat(table["classes"]).reshape(shape),
            _flat(table["scores"]).reshape(shape) if "scores" in table.column_names else None,
            _stored_array(folder / FULL_SCORES, manifest) if manifest.full_scores else None,
            ScoreKind(manifest.score_kind) if manifest.score_kind else None,
            _stored_array(folder / FEATURES, manifest) if manifest.features else None,
            Answerer(manifest.by),
            number_array(table["asked"]) if "asked" in table.column_names else None,
            _read_times(folder / TIMES, manifest) if manifest.times else None,
            _stored_array(folder / FINGERPRINTS, manifest) if manifest.fingerprints else None,
            _read_ties(folder / TIES, manifest) if manifest.tied else None,
        )
    except DamagedFile:
        raise
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise FormatError(f"{folder} cannot be read: {error}") from None


def _writers(predictions: Predictions, test_set: TestSet) -> dict[str, Callable[[BinaryIO], object]]:
    """A function that writes each file of the folder, by file name."""
    writers: dict[str, Callable[[BinaryIO], object]] = {
        TOP_K: partial(_write_top_k, table=_top_k_table(predictions, test_set))
    }
    for name, values in ((FULL_SCORES, predictions.full_scores), (FEATURES, predictions.features)):
        if values is not None:
            writers[name] = partial(write_array, values=np.asarray(values).astype(np.float16, copy=False))
    if predictions.fingerprints is not None:
        writers[FINGERPRINTS] = partial(write_array, values=np.asarray(predictions.fingerprints))
    if predictions.times is not None:
        writers[TIMES] = partial(_write_times, table=_times_table(predictions.times, test_set))
    if predictions.ties is not None:
        writers[TIES] = partial(_write_ties, table=_ties_table(predictions.ties, test_set))
    return writers


def read_manifest(folder: Path) -> Manifest:
    """Read and check manifest.json."""
    return manifest_in(read_stored_json(folder / MANIFEST))


def manifest_in(raw: Metadata) -> Manifest:
    """The manifest in the JSON object of its file."""
    try:
        parts = {
            "model": ModelSpec(**raw["model"]),
            "source": PredictionSource(**raw["source"]),
            **{name: tuple(raw.get(name, ())) for name in ("queues", "retries")},
            "files": {name: Checksums.from_json(stated) for name, stated in raw["files"].items()},
        }
        return Manifest(**{**raw, **parts})
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise FormatError(f"{raw.path} cannot be read: {error}") from None


def _stored_array(path: Path, manifest: Manifest) -> Any:
    """An array of the folder, which can be used like a numpy array."""
    return StoredArray(path, manifest.files[path.name])


def _read_table(path: Path, manifest: Manifest, columns: list[str]) -> pa.Table:
    with pq.ParquetFile(pa.BufferReader(read_checked(path, manifest.files[path.name]))) as file:
        return file.read(columns=columns, use_threads=False)


def _top_k_table(predictions: Predictions, test_set: TestSet) -> pa.Table:
    small = predictions.classes.max(initial=0) <= np.iinfo(np.int16).max
    columns = {
        "example": text_array(test_set.ids),
        "classes": _lists(predictions.classes.astype(np.int16 if small else np.int32)),
    }
    if predictions.scores is not None:
        columns["scores"] = _lists(predictions.scores.astype(np.float32, copy=False))
    if predictions.covered is not None:
        columns["asked"] = pa.array(predictions.covered)
    return pa.table(columns)


def _write_top_k(file: BinaryIO, table: pa.Table) -> None:
    pq.write_table(table, file, compression="zstd", use_dictionary=_DICTIONARY_COLUMNS, row_group_size=_ROWS)


def _top_k_columns(manifest: Manifest) -> list[str]:
    optional = {"scores": manifest.score_kind is not None, "asked": manifest.asked is not None}
    return ["classes", *(name for name, is_stored in optional.items() if is_stored)]


def _times_table(times: AnswerTimes, test_set: TestSet) -> pa.Table:
    """Start and end of each answer in seconds, empty if unknown."""
    columns = {name: pa.array(getattr(times, name), from_pandas=True) for name in ("start", "end")}
    return pa.table({"example": text_array(test_set.ids), **columns})


def _write_times(file: BinaryIO, table: pa.Table) -> None:
    pq.write_table(table, file, compression="zstd")


def _read_times(path: Path, manifest: Manifest) -> AnswerTimes:
    table = _read_table(path, manifest, ["start", "end"])
    return AnswerTimes(*(table[name].to_numpy().astype(np.float64) for name in ("start", "end")))


def _ties_table(ties: Ties, test_set: TestSet) -> pa.Table:
    """Each image with ties, its position, and the tied classes: one bit per class, the first in the highest bit."""
    bits = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(ties.bits.shape[1]), len(ties), [None, pa.py_buffer(np.ascontiguousarray(ties.bits))]
    )
    examples = text_array([test_set.ids[row] for row in ties.rows.tolist()])
    return pa.table({"example": examples, "position": pa.array(ties.rows.astype(np.int32)), "classes": bits})


def _write_ties(file: BinaryIO, table: pa.Table) -> None:
    pq.write_table(table, file, compression="zstd", row_group_size=_ROWS)


def _read_ties(path: Path, manifest: Manifest) -> Ties:
    table = _read_table(path, manifest, ["position", "classes"])
    bits = np.frombuffer(b"".join(table["classes"].to_pylist()), dtype=np.uint8)
    return Ties(table["position"].to_numpy().astype(np.int64), bits.reshape(len(table), -1))


def _lists(values: np.ndarray[Any, Any]) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(number_column(values.ravel()), values.shape[1])


def _flat(column: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    return number_array(column.combine_chunks().flatten())
