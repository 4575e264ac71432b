"""Label sets as Parquet files: the correct, unclear and wrong class ids of each example."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from regrade.core import LabelSet, LabelState, TestSet, UnknownName, Unlisted
from regrade.core.arrays import IntArray
from regrade.store.checked_files import PLACE, read_meta, read_parquet, write_parquet
from regrade.store.collection import Collection, check_test_set
from regrade.store.contents import removed
from regrade.store.file_errors import filled_folders, is_filled, lost
from regrade.store.layout import file_name, original_name, place_of
from regrade.tables import number_array, number_column, text_array

_FIRST = "regrade import labels, or from the images' own labels with regrade labels create"
_STATES = (LabelState.CORRECT, LabelState.UNCLEAR, LabelState.WRONG)


class LabelSetCollection(Collection[LabelSet, TestSet]):
    """The versions of label sets; their full names are ``name@version``."""

    kind = "labels"

    def names_of(self, labels: LabelSet, test_set: TestSet) -> tuple[str, ...]:
        """The name of the test set, and the full name of the label set."""
        return test_set.name, labels.full_name

    def refusal(self, labels: LabelSet, test_set: TestSet) -> str:
        """The error for other labels of the same full name."""
        return (
            f"other labels are stored as {labels.full_name} of {test_set.name}: choose another --name, or keep both "
            "with --new-version"
        )

    def write(self, labels: LabelSet, test_set: TestSet, file: BinaryIO) -> None:
        """Write one row per covered example; the reason is empty unless the example is problematic."""
        covered = np.flatnonzero(labels.covered)
        columns: dict[str, Any] = {"example": text_array(test_set.ids).take(number_column(covered))}
        for state in _STATES:
            columns[state.name.lower()] = _class_lists(labels, test_set, state, covered)
        columns["problematic"] = text_array([labels.reasons[i] for i in covered])
        meta = {
            PLACE: place_of(self.kind, test_set.name, labels.full_name),
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

    def names(self, *parents: str) -> tuple[str, ...]:
        """The full names of the label sets of a test set, oldest version first."""
        (test_set,) = parents
        self.warn_of_lost(self.path(test_set, full) for full in self._lost_versions(test_set))
        return _by_version(super().names(test_set))

    def read(self, test_set: TestSet, name: str) -> LabelSet:
        """Read a label set by ``name`` (its newest version) or ``name@version``."""
        missing = self._lost_versions(test_set.name)
        all_versions = _by_version((*super().names(test_set.name), *missing))
        matching = [full for full in all_versions if name in (full, full.rpartition("@")[0])]
        if not matching:
            raise self._unknown(test_set.name, name)
        path = self.path(test_set.name, matching[-1])
        if matching[-1] in missing:
            review = place_of("reviews", test_set.name, matching[-1])
            raise lost(path, f"{review} is a review of it") if is_filled(self.root / review) else removed(path)
        return _decoded(path, test_set)

    def newest_version(self, test_set: str, name: str) -> int:
        """The newest version of a label set; 0 if there is none."""
        split = (full.rpartition("@") for full in (*self.names(test_set), *self._lost_versions(test_set)))
        return max((int(version) for base, _, version in split if base == name), default=0)

    def newest_without_decisions(self, test_set: str, name: str) -> str:
        """The newest version of a label set, as ``name@version``, without decisions from a ledger."""
        for full in reversed(self.names(test_set)):
            if full.rpartition("@")[0] == name and not read_meta(self.path(test_set, full)).get("queues"):
                return full
        raise self._unknown(test_set, name)

    def _lost_versions(self, test_set: str) -> tuple[str, ...]:
        """The label sets that are missing although contents.json lists them or a review of them is stored."""
        folders = filled_folders(self.root / "reviews" / file_name(test_set))
        reviewed = [original_name(folder.name) for folder in folders]
        missing = [full for full in reviewed if not self.has(test_set, full)]
        return tuple({*missing, *self.lost_names(test_set)})

    def _unknown(self, test_set: str, name: str) -> UnknownName:
        names = sorted({full.rpartition("@")[0] for full in self.names(test_set)})
        return UnknownName(f"label set of {test_set}", name, names, first=_FIRST)


def _by_version(names: Iterable[str]) -> tuple[str, ...]:
    """Full names of label sets, ``name@version``, oldest version first; other names are left out."""
    split = (full.rpartition("@") for full in names)
    versions = sorted((name, int(version)) for name, _, version in split if name and version.isdigit())
    return tuple(f"{name}@{version}" for name, version in versions)


def _decoded(path: Path, test_set: TestSet) -> LabelSet:
    table, meta = read_parquet(path)
    check_test_set(path, meta["test_set_digest"], test_set)
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
    ids = text_array(test_set.class_space.ids).take(number_column(labels.classes[chosen][order]))
    return pa.ListArray.from_arrays(number_column(offsets), ids)


def _judgments(table: pa.Table, positions: IntArray, test_set: TestSet) -> tuple[IntArray, IntArray, IntArray]:
    class_ids = text_array(test_set.class_space.ids)
    examples, classes, states = [], [], []
    for state in _STATES:
        lists = table[state.name.lower()].combine_chunks()
        examples.append(np.repeat(positions, number_array(pc.list_value_length(lists))))
        classes.append(number_array(pc.index_in(lists.flatten(), value_set=class_ids)))
        states.append(np.full(len(classes[-1]), state, dtype=np.int8))
    return np.concatenate(examples), np.concatenate(classes), np.concatenate(states)
