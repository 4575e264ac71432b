"""Reviews of models' mistakes as Parquet files: image, predicted class, category and severity."""

from __future__ import annotations

from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from regrade.core import MistakeAnnotations, MistakeCategory, ReusedFrom, Severity, TestSet, UnknownName
from regrade.store.checked_files import PLACE, read_meta, read_parquet, write_parquet
from regrade.store.collection import Collection, check_test_set
from regrade.store.layout import place_of
from regrade.store.transaction import Transaction
from regrade.tables import Reading, number_array, one_class_per_row, text_array


class MistakeReviewCollection(Collection[MistakeAnnotations, TestSet]):
    """The reviews of models' mistakes on test sets.

    Decisions from a ledger may replace earlier ones, which the ledger still has.
    """

    kind = "mistakes"

    def names_of(self, review: MistakeAnnotations, test_set: TestSet) -> tuple[str, ...]:
        """The names of the test set and of the model."""
        return test_set.name, review.model

    def refusal(self, review: MistakeAnnotations, test_set: TestSet) -> str:
        """The error for another review of the same model."""
        return (
            f"another review of the mistakes of {review.model!r} on {test_set.name} is stored: choose another --model, "
            f"or remove {self.path(test_set.name, review.model)} first"
        )

    def put(self, change: Transaction, review: MistakeAnnotations, test_set: TestSet) -> None:
        """Stage a review in place of the stored one."""
        path = self.path(test_set.name, review.model)
        change.replace_at(path, lambda file: self.write(review, test_set, file))

    def write(self, review: MistakeAnnotations, test_set: TestSet, file: BinaryIO) -> None:
        """Write one row per mistake; ``spelling`` is the category as it was written in the imported file.

        Rows reused from the review of another model have its name, and that of its queue, in columns that other reviews
        do not have.
        """
        text = pa.string()
        columns = {
            "example": pa.array([test_set.ids[e] for e in review.examples], type=text),
            "class": pa.array([test_set.class_space.ids[c] for c in review.classes], type=text),
            "category": pa.array([category.value for category in review.categories], type=text),
            "severity": pa.array([severity.value for severity in review.severities], type=text),
            "spelling": pa.array(review.spellings, type=text),
        }
        if any(review.reused):
            for name, value in (("from_model", "model"), ("from_queue", "queue")):
                columns[name] = pa.array([origin and getattr(origin, value) for origin in review.reused], type=text)
        meta = {
            PLACE: place_of(self.kind, test_set.name, review.model),
            "model": review.model,
            "test_set": test_set.name,
            "test_set_digest": test_set.digest,
            "origin": review.origin,
            "queues": review.queues,
            "digest": review.digest,
        }
        write_parquet(pa.table(columns), meta, file)

    def may_replace(self, review: MistakeAnnotations, test_set: TestSet) -> bool:
        """Whether both reviews are decisions from a ledger."""
        return bool(review.queues and read_meta(self.path(test_set.name, review.model))["queues"])

    def names(self, *parents: str) -> tuple[str, ...]:
        """The names of the models whose mistakes on a test set were reviewed."""
        self.warn_of_lost(self.path(*parents, model) for model in self.lost_names(*parents))
        return super().names(*parents)

    def read(self, test_set: TestSet, model: str) -> MistakeAnnotations:
        """Read a review; raise if it was made for another version of the test set."""
        path = self.path(test_set.name, model)
        if not path.is_file():
            self.refuse_lost(test_set.name, model)
            names = self.names(test_set.name)
            raise UnknownName(f"review of mistakes on {test_set.name}", model, names, first="regrade review mistakes")
        table, meta = read_parquet(path)
        check_test_set(path, meta["test_set_digest"], test_set)
        return MistakeAnnotations(
            meta["model"],
            test_set.name,
            len(test_set),
            len(test_set.class_space),
            number_array(pc.index_in(table["example"], value_set=text_array(test_set.ids))),
            one_class_per_row(table["class"], test_set.class_space, name="class", reading=Reading.IDS),
            tuple(MistakeCategory(value) for value in table["category"].to_pylist()),
            tuple(Severity(value) for value in table["severity"].to_pylist()),
            tuple(table["spelling"].to_pylist()),
            meta["origin"],
            tuple(meta.get("queues", ())),
            _reused(table),
        )


def _reused(table: pa.Table) -> tuple[ReusedFrom | None, ...]:
    if "from_model" not in table.column_names:
        return ()
    rows = zip(table["from_model"].to_pylist(), table["from_queue"].to_pylist(), strict=True)
    return tuple(None if model is None else ReusedFrom(model, queue) for model, queue in rows)
