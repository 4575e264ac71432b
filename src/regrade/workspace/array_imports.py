"""Predictions and test sets of a workspace from memory: data frames, Arrow tables and arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from regrade.core import ClassSpace, InputError, TestSet
from regrade.formats import (
    ArrayClasses,
    FileClassSpaces,
    PredictionFile,
    PredictionKind,
    kind_of,
    predictions_from_array,
    read_prediction_table,
)
from regrade.formats.file_predictions import NO_IDS
from regrade.store import Store
from regrade.tables import ArrayInput, Columns, Examples, array_input, check_ids, check_unique, read_examples
from regrade.workspace.array_data import LABELS, model_inputs
from regrade.workspace.test_set_adding import AddedTestSet, space_for

_ORIGIN = "the data"  # in messages


@dataclass(frozen=True, eq=False)
class GivenPredictions:
    """Predictions in memory: a table with ids, an array of the model ``model``, or a dictionary of arrays by model."""

    data: Any
    model: str | None
    columns: Columns
    kind: PredictionKind | None = None

    def read(self, spaces: FileClassSpaces) -> PredictionFile:
        """The predictions as if they were read from a file."""
        table = table_with_ids(self.data, self.columns)
        if table is not None:
            return read_prediction_table(table, spaces, columns=self.columns, model=self.model, origin=_ORIGIN)
        inputs = model_inputs(self._by_model())
        classes = ArrayClasses(spaces.predictions)
        predictions = {
            name: predictions_from_array(given, classes, kind_of(given, self.kind)) for name, given in inputs.items()
        }
        first = next(iter(inputs.values()))
        for given in inputs.values():
            given.check_rows(first)
        ids = indexed_ids(first)
        notes = tuple(note for own in predictions.values() for note in own.notes)
        return PredictionFile(
            None if ids is None else Examples(ids, None), predictions, notes if ids else (NO_IDS, *notes)
        )

    def _by_model(self) -> Mapping[str, Any]:
        if isinstance(self.data, Mapping):
            if self.model is not None:
                raise InputError("the keys of a dictionary of predictions are the names of models: leave out model")
            return self.data
        if self.model is None:
            raise InputError("name the model of these predictions: model='NAME', or give a dictionary by model name")
        return {self.model: self.data}


def table_with_ids(data: Any, columns: Columns) -> pa.Table | None:
    """A data frame or an Arrow table with a column of example ids as an Arrow table; None for everything else."""
    if hasattr(data, "iloc") and getattr(data, "ndim", 1) == 2:
        data = pa.Table.from_pandas(data, preserve_index=False)
    if not isinstance(data, pa.Table) or columns.usual_id_in(data) is None:
        return None
    return data.replace_schema_metadata(None)


def indexed_ids(given: ArrayInput) -> tuple[str, ...] | None:
    """Example ids from the index of a pandas object; None if it has none, or only row numbers."""
    if given.index is None or list(given.index) == list(range(len(given))):
        return None
    ids = tuple(map(str, given.index))
    check_unique(ids)
    check_ids(ids)
    return ids


def add_labels(store: Store, name: str, data: Any, *, stated: ClassSpace | None, columns: Columns) -> AddedTestSet:
    """Store a test set without images from a table with ids, or from an array of labels."""
    space = space_for(store, name, stated)
    table = table_with_ids(data, columns)
    if table is not None:
        test_set = read_examples(table, space, columns).as_test_set(name, space)
        notes = columns.ignored_in(table)
    else:
        test_set, notes = _test_set(name, array_input(data, name=LABELS), space), ()
    return AddedTestSet(test_set, None, bool(store.add_test_set(test_set).new), notes=notes)


def _test_set(name: str, labels: ArrayInput, space: ClassSpace) -> TestSet:
    if labels.values.ndim != 1 or (labels.values.dtype == object and any(isinstance(x, list) for x in labels.values)):
        raise InputError(
            f"{LABELS} has shape {labels.values.shape}: a test set has one label per image; import further labels with "
            "ws.labels.import_file"
        )
    ids = indexed_ids(labels) or tuple(map(str, range(len(labels))))
    return TestSet(name, space, ids, ArrayClasses(space).indices(labels))


def refuse_map(class_map: str | Path | None) -> None:
    """Raise on a class map for labels in memory, which is read with a test set of files only."""
    if class_map is not None:
        raise InputError("a class map needs a test set of files: leave out class_map, or give a path")
