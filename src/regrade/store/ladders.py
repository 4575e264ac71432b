"""Ladders as Parquet files: a row per submission to a held-back test set; submissions are only added."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import BinaryIO

import pyarrow as pa

from regrade.core import Ladder, Submission, TestSet
from regrade.store.checked_files import PLACE, read_parquet, write_parquet
from regrade.store.collection import Collection, check_test_set
from regrade.store.layout import place_of
from regrade.store.transaction import Transaction

_TYPES = {"str": pa.string(), "bool": pa.bool_(), "float": pa.float64(), "int": pa.int64()}
_COLUMNS = {item.name: _TYPES[str(item.type)] for item in fields(Submission)}


class LadderCollection(Collection[Ladder, TestSet]):
    """The ladders of test sets, at most one per test set: two would not know what the other one has told."""

    kind = "ladders"

    def names_of(self, ladder: Ladder, _test_set: TestSet) -> tuple[str, ...]:
        """The name of the test set."""
        return (ladder.test_set,)

    def refusal(self, ladder: Ladder, _test_set: TestSet) -> str:
        """The error for a ladder without the submissions that are stored."""
        return f"{ladder.test_set} has a ladder with other submissions, which are never removed or changed"

    def may_replace(self, ladder: Ladder, test_set: TestSet) -> bool:
        """Whether a ladder has all stored submissions."""
        stored = self.read(test_set)
        return stored is not None and ladder.continues(stored)

    def put(self, change: Transaction, ladder: Ladder, test_set: TestSet) -> None:
        """Stage a ladder in place of the stored one, which it continues."""
        change.replace_at(self.path(ladder.test_set), lambda file: self.write(ladder, test_set, file))

    def write(self, ladder: Ladder, test_set: TestSet, file: BinaryIO) -> None:
        """Write one row per submission; the baseline is in the metadata."""
        rows = [asdict(submission) for submission in ladder.submissions]
        columns = {name: pa.array([row[name] for row in rows], type=kind) for name, kind in _COLUMNS.items()}
        meta = {
            PLACE: place_of(self.kind, ladder.test_set),
            "test_set": ladder.test_set,
            "test_set_digest": test_set.digest,
            "baseline": ladder.baseline,
            "baseline_digest": ladder.baseline_digest,
            "confidence": ladder.confidence,
            "digest": ladder.digest,
        }
        write_parquet(pa.table(columns), meta, file)

    def read(self, test_set: TestSet) -> Ladder | None:
        """The ladder of a test set, None if it has none; raise if it was removed by hand."""
        path = self.path(test_set.name)
        if not path.is_file():
            self.refuse_lost(test_set.name)
            return None
        table, meta = read_parquet(path)
        check_test_set(path, meta["test_set_digest"], test_set)
        return Ladder(
            test_set.name,
            meta["baseline"],
            meta["baseline_digest"],
            meta["confidence"],
            tuple(Submission(**row) for row in table.to_pylist()),
        )
