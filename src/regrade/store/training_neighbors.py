"""The nearest training images of test sets as Parquet files: one row per image and neighbor."""

from __future__ import annotations

import hashlib
import json
import shlex
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from regrade.core import InputError, MismatchError, TestSet, UnknownName
from regrade.core.training_neighbors import NO_NEIGHBOR, NeighborQuestion, TrainingNeighbors
from regrade.store.checked_files import PLACE, read_parquet, write_parquet
from regrade.store.collection import Collection
from regrade.store.contents import removed
from regrade.store.file_errors import FIRST_MODEL
from regrade.store.layout import file_name, original_name, place_of
from regrade.store.predictions import FEATURES, PredictionCollection
from regrade.store.transaction import Transaction
from regrade.tables import number_array, text_array

Sets = tuple[TestSet, TestSet]
"""A test set and its training set."""


def neighbors_command(test_set: str, training_set: str, model: str) -> str:
    """The command that finds the nearest training images."""
    return f"regrade neighbors {shlex.join(['-t', test_set, '--against', training_set, '--model', model])}"


class TrainingNeighborCollection(Collection[TrainingNeighbors, Sets]):
    """The nearest training images by test set, training set and the model whose embeddings were compared.

    They follow from other files: another search, with other settings or after a change, replaces the stored one.
    """

    kind = "nearest"

    def __init__(self, root: Path, predictions: PredictionCollection) -> None:
        super().__init__(root)
        self._predictions = predictions

    def names_of(self, neighbors: TrainingNeighbors, _sets: Sets) -> tuple[str, ...]:
        """The names of the test set, of the training set and of the model."""
        question = neighbors.question
        return question.test_set, question.training_set, question.model

    def refusal(self, neighbors: TrainingNeighbors, sets: Sets) -> str:
        """The error for other neighbors, which `may_replace` never raises."""
        return f"{self.path(*self.names_of(neighbors, sets))} exists already"

    def may_replace(self, _neighbors: TrainingNeighbors, _sets: Sets) -> bool:
        """Whether another search may replace the stored one: always."""
        return True

    def put(self, change: Transaction, neighbors: TrainingNeighbors, sets: Sets) -> None:
        """Stage neighbors in place of the stored ones."""
        path = self.path(*self.names_of(neighbors, sets))
        change.replace_at(path, lambda file: self.write(neighbors, sets, file))

    def write(self, neighbors: TrainingNeighbors, sets: Sets, file: BinaryIO) -> None:
        """Write one row per image and neighbor, nearest first, in the order of the test set.

        The position of a neighbor in the training set saves looking it up among a million ids.
        """
        test_set, training_set = sets
        rows, places = np.nonzero(neighbors.positions != NO_NEIGHBOR)
        columns = {
            "image": text_array(test_set.ids).take(pa.array(rows)),
            "neighbor": text_array(training_set.ids).take(pa.array(neighbors.positions[rows, places])),
            "position": pa.array(neighbors.positions[rows, places], pa.int32()),
            "distance": pa.array(neighbors.distances[rows, places]),
            "duplicate": pa.array(neighbors.duplicates[rows, places], pa.int8()),
        }
        meta = {
            PLACE: place_of(self.kind, *self.names_of(neighbors, sets)),
            **asdict(neighbors.question),
            "compared_pixels": neighbors.compared_pixels,
            "digest": neighbors.digest,
        }
        write_parquet(pa.table(columns), meta, file)

    def searches(self, test_set: str) -> tuple[tuple[str, str], ...]:
        """The training set and the model of every stored search for the images of a test set."""
        folder = self.root / self.kind / file_name(test_set)
        files = sorted(folder.glob("*/*.parquet"))
        return tuple((original_name(path.parent.name), original_name(path.stem)) for path in files)

    def question(self, sets: Sets, model: str, *, neighbors: int, threshold: float) -> NeighborQuestion:
        """What a search compares now; raise if no embeddings of the model are stored on one of both sets."""
        test_set, training_set = sets
        embeddings = "\n".join(self._embeddings(each.name, model) for each in sets)
        digest = hashlib.sha256(embeddings.encode()).hexdigest()
        return NeighborQuestion(
            test_set.name, training_set.name, model, test_set.digest, training_set.digest, digest, neighbors, threshold
        )

    def _embeddings(self, test_set: str, model: str) -> str:
        """The checksums of a model's embeddings of a set."""
        self._predictions.check_manifests(test_set, [model])
        if model not in (names := self._predictions.model_names(test_set)):
            raise UnknownName(f"model on {test_set}", model, names, first=FIRST_MODEL)
        manifest = self._predictions.manifest(test_set, model)
        if not manifest.features:
            raise InputError(
                f"no embeddings of {model} on {test_set} are stored: run regrade predict --keep features in a "
                "workspace that has no predictions of it yet"
            )
        return json.dumps(manifest.files[FEATURES].as_json())

    def stored(self, question: NeighborQuestion, sets: Sets) -> TrainingNeighbors | None:
        """The stored neighbors of the same question; None if there are none."""
        path = self.path(question.test_set, question.training_set, question.model)
        if not path.is_file():
            return None
        table, meta = read_parquet(path)
        return _decoded(table, meta, question, sets[0]) if meta["digest"] == question.digest else None

    def read(self, sets: Sets, model: str) -> TrainingNeighbors:
        """Read neighbors; raise if there are none, or if a set or the embeddings changed since they were found."""
        test_set, training_set = sets
        path = self.path(test_set.name, training_set.name, model)
        command = neighbors_command(test_set.name, training_set.name, model)
        if not path.is_file():
            if training_set.name in self.lost_names(test_set.name):
                raise removed(path)
            raise InputError(
                f"no nearest images of {test_set.name} in {training_set.name} by {model} are stored: run {command}"
            )
        table, meta = read_parquet(path)
        question = NeighborQuestion(**{field.name: meta[field.name] for field in fields(NeighborQuestion)})
        self._check_current(question, sets, model, command)
        return _decoded(table, meta, question, test_set)

    def _check_current(self, stored: NeighborQuestion, sets: Sets, model: str, command: str) -> None:
        try:
            current = self.question(sets, model, neighbors=stored.neighbors, threshold=stored.threshold)
        except InputError as error:
            raise MismatchError(f"the stored nearest images cannot be checked: {error}") from None
        changed = {
            f"test set {sets[0].name}": stored.test_set_digest != current.test_set_digest,
            f"training set {sets[1].name}": stored.training_set_digest != current.training_set_digest,
            f"the embeddings of {model}": stored.embeddings_digest != current.embeddings_digest,
        }
        if any(changed.values()):
            outdated = " and ".join(what for what, is_changed in changed.items() if is_changed)
            raise MismatchError(
                f"the nearest images of {sets[0].name} in {sets[1].name} are outdated: {outdated} changed since they "
                f"were found: run {command}"
            )


def _decoded(table: pa.Table, meta: dict[str, Any], question: NeighborQuestion, test_set: TestSet) -> TrainingNeighbors:
    shape = len(test_set), question.neighbors
    rows = number_array(pc.index_in(table["image"], value_set=text_array(test_set.ids))).astype(np.int64)
    starts = np.searchsorted(rows, np.arange(len(test_set)))
    places = np.arange(len(rows)) - starts[rows]
    positions = np.full(shape, NO_NEIGHBOR, dtype=np.int64)
    distances, duplicates = np.full(shape, np.nan), np.zeros(shape, dtype=np.int8)
    positions[rows, places] = number_array(table["position"])
    distances[rows, places] = number_array(table["distance"])
    duplicates[rows, places] = number_array(table["duplicate"])
    return TrainingNeighbors(question, positions, distances, duplicates, meta["compared_pixels"])
