"""A label set as a Parquet file: the correct, unclear and wrong class ids of each example."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from regrade.core import LabelSet, LabelState, MismatchError, TestSet, Unlisted
from regrade.core.arrays import IntArray
from regrade.store.layout import place_of_labels
from regrade.store.metadata import PLACE
from regrade.store.parquet import read_parquet, write_parquet
from regrade.tables import number_array, text_array

_STATES = (LabelState.CORRECT, LabelState.UNCLEAR, LabelState.WRONG)


def write_label_set(labels: LabelSet, test_set: TestSet, file: BinaryIO) -> None:
    """Write one row per covered example; the reason is empty unless the example is problematic."""
    covered = np.flatnonzero(labels.covered)
    columns: dict[str, Any] = {"example": text_array(test_set.ids).take(pa.array(covered))}
    for state in _STATES:
        columns[state.name.lower()] = _class_lists(labels, test_set, state, covered)
    columns["problematic"] = [labels.reasons[i] for i in covered]
    meta = {
        PLACE: place_of_labels(test_set.name, labels.full_name),
        "name": labels.name,
        "version": labels.version,
        "test_set": labels.test_set,
        "test_set_digest": test_set.digest,
        "unlisted": labels.unlisted.value,
        "origin": labels.origin,
        "queues": labels.queues,
        "digest": labels.digest,
    }
    write_parquet(pa.table(columns), meta, file)


def read_label_set(path: Path, test_set: TestSet) -> LabelSet:
    """Read a label set; raise if it was made for another version of the test set."""
    table, meta = read_parquet(path)
    if meta["test_set_digest"] != test_set.digest:
        raise MismatchError(f"{path} was made for another version of test set {test_set.name!r}")
    positions = number_array(pc.index_in(table["example"], value_set=text_array(test_set.ids)))
    examples, classes, states = _judgments(table, positions, test_set)
    covered = np.zeros(len(test_set), dtype=bool)
    covered[positions] = True
    reasons = np.full(len(test_set), "", dtype=object)
    reasons[positions] = table["problematic"].to_pylist()
    return LabelSet(
        meta["name"],
        int(meta["version"]),
        test_set.name,
        len(test_set.class_space),
        examples,
        classes,
        states,
        covered,
        tuple(reasons),
        Unlisted(meta["unlisted"]),
        meta["origin"],
        tuple(meta.get("queues", ())),
    )


def _class_lists(labels: LabelSet, test_set: TestSet, state: LabelState, covered: IntArray) -> pa.Array:
    chosen = labels.states == state
    order = np.lexsort((labels.classes[chosen], labels.examples[chosen]))
    counts = np.bincount(labels.examples[chosen], minlength=len(labels))[covered]
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    ids = pa.array(test_set.class_space.ids).take(pa.array(labels.classes[chosen][order]))
    return pa.ListArray.from_arrays(pa.array(offsets), ids)


def _judgments(table: pa.Table, positions: IntArray, test_set: TestSet) -> tuple[IntArray, IntArray, IntArray]:
    class_ids = text_array(test_set.class_space.ids)
    examples, classes, states = [], [], []
    for state in _STATES:
        lists = table[state.name.lower()].combine_chunks()
        examples.append(np.repeat(positions, number_array(pc.list_value_length(lists))))
        classes.append(number_array(pc.index_in(lists.flatten(), value_set=class_ids)))
        states.append(np.full(len(classes[-1]), state, dtype=np.int8))
    return np.concatenate(examples), np.concatenate(classes), np.concatenate(states)
