"""A review of a model's mistakes as a Parquet file: image, predicted class, category and severity."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from regrade.core import MismatchError, MistakeAnnotations, MistakeCategory, Severity, TestSet
from regrade.store.layout import place_of_mistakes
from regrade.store.metadata import PLACE
from regrade.store.parquet import read_parquet, write_parquet
from regrade.tables import Reading, number_array, one_class_per_row, text_array


def write_mistake_review(review: MistakeAnnotations, test_set: TestSet, file: BinaryIO) -> None:
    """Write one row per mistake; ``spelling`` is the category as it was written in the imported file."""
    text = pa.string()
    columns = {
        "example": pa.array([test_set.ids[e] for e in review.examples], type=text),
        "class": pa.array([test_set.class_space.ids[c] for c in review.classes], type=text),
        "category": pa.array([category.value for category in review.categories], type=text),
        "severity": pa.array([severity.value for severity in review.severities], type=text),
        "spelling": pa.array(review.spellings, type=text),
    }
    meta = {
        PLACE: place_of_mistakes(test_set.name, review.model),
        "model": review.model,
        "test_set": test_set.name,
        "test_set_digest": test_set.digest,
        "origin": review.origin,
        "queues": review.queues,
        "digest": review.digest,
    }
    write_parquet(pa.table(columns), meta, file)


def read_mistake_review(path: Path, test_set: TestSet) -> MistakeAnnotations:
    """Read a review; raise if it was made for another version of the test set."""
    table, meta = read_parquet(path)
    if meta["test_set_digest"] != test_set.digest:
        raise MismatchError(f"{path} was made for another version of test set {test_set.name!r}")
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
    )
