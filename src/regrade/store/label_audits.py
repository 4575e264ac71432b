"""Audits of labels as Parquet files: the labels that all models agree with, in random order, with the decisions."""

from __future__ import annotations

from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from regrade.core import LabelAudit, LabelState, TestSet, UnknownName
from regrade.store.checked_files import PLACE, read_parquet, write_parquet
from regrade.store.collection import Collection, check_test_set
from regrade.store.layout import place_of
from regrade.store.transaction import Transaction
from regrade.tables import Reading, number_array, one_class_per_row, text_array


class LabelAuditCollection(Collection[LabelAudit, TestSet]):
    """The audits of the labels of test sets, by the queue in which people decide; their samples only grow."""

    kind = "audits"

    def names_of(self, audit: LabelAudit, test_set: TestSet) -> tuple[str, ...]:
        """The names of the test set and of the queue."""
        return test_set.name, audit.queue

    def refusal(self, audit: LabelAudit, test_set: TestSet) -> str:
        """The error for an audit of other labels."""
        return f"the audit {audit.queue!r} of {test_set.name} has another random order: choose another --name"

    def may_replace(self, audit: LabelAudit, test_set: TestSet) -> bool:
        """Whether an audit continues the stored one."""
        return audit.continues(self.read(test_set, audit.queue))

    def put(self, change: Transaction, audit: LabelAudit, test_set: TestSet) -> None:
        """Stage an audit in place of the stored one, which it continues."""
        path = self.path(test_set.name, audit.queue)
        change.replace_at(path, lambda file: self.write(audit, test_set, file))

    def write(self, audit: LabelAudit, test_set: TestSet, file: BinaryIO) -> None:
        """Write one row per label, in random order; a decision is empty if there is none."""
        words = np.array([state.name.lower() for state in LabelState])
        words[LabelState.UNJUDGED] = ""
        columns = {
            "example": text_array(test_set.ids).take(pa.array(audit.examples)),
            "class": pa.array(test_set.class_space.ids).take(pa.array(audit.classes)),
            "decision": pa.array(words[audit.states].tolist(), type=pa.string()),
        }
        meta = {
            PLACE: place_of(self.kind, test_set.name, audit.queue),
            "queue": audit.queue,
            "test_set": test_set.name,
            "test_set_digest": test_set.digest,
            "labels": audit.labels,
            "models": list(audit.models),
            "drawn": audit.drawn,
            "digest": audit.digest,
        }
        write_parquet(pa.table(columns), meta, file)

    def read(self, test_set: TestSet, queue: str) -> LabelAudit:
        """The audit of a queue."""
        path = self.path(test_set.name, queue)
        if not path.is_file():
            self.refuse_lost(test_set.name, queue)
            first = "regrade review audit"
            raise UnknownName(f"audit of labels of {test_set.name}", queue, self.names(test_set.name), first=first)
        table, meta = read_parquet(path)
        check_test_set(path, meta["test_set_digest"], test_set)
        words = table["decision"].to_pylist()
        return LabelAudit(
            queue,
            test_set.name,
            meta["labels"],
            tuple(meta["models"]),
            number_array(pc.index_in(table["example"], value_set=text_array(test_set.ids))),
            one_class_per_row(table["class"], test_set.class_space, name="class", reading=Reading.IDS),
            meta["drawn"],
            np.array([LabelState[word.upper()] if word else LabelState.UNJUDGED for word in words], dtype=np.int8),
        )
