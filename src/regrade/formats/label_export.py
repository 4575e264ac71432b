"""Exporting labels in formats that `regrade import labels` reads: plain tables, plain JSON and multi-label v3."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from regrade.core import FormatError, LabelSet, LabelState, TestSet, Unlisted
from regrade.formats.label_files import IMAGENET_M, LabelFormat

SUFFIXES = (".csv", ".json", ".parquet")
_STATES = (LabelState.CORRECT, LabelState.UNCLEAR, LabelState.WRONG)


@dataclass(frozen=True)
class Authors:
    """The people who made a decision, and its time."""

    by: tuple[str, ...]
    at: datetime

    @property
    def iso_time(self) -> str:
        """The time in ISO 8601."""
        return f"{self.at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"


@dataclass(frozen=True)
class LabelAuthors:
    """The authors of labels by example and class, and of problematic images by example."""

    pairs: Mapping[tuple[int, int], Authors] = field(default_factory=dict)
    images: Mapping[int, Authors] = field(default_factory=dict)


def labels_as_file(
    labels: LabelSet, test_set: TestSet, suffix: str, *, form: LabelFormat, authors: LabelAuthors
) -> bytes:
    """The content of a file from which the same labels can be imported; raise if the format cannot express them.

    Plain files include authors and times; multi-label v3 has no place for them.
    """
    extension = suffix.lower()
    if form is LabelFormat.MULTILABEL_V3:
        return _as_json(_multilabel(labels, test_set, extension))
    if form is not LabelFormat.PLAIN:
        raise FormatError(f"labels are written as plain or multilabel-v3, not as {form.value}")
    match extension:
        case ".json":
            return _as_json(_plain_json(labels, test_set, authors))
        case ".csv":
            buffer = io.BytesIO()
            options = pyarrow.csv.WriteOptions(quoting_style="needed")
            pyarrow.csv.write_csv(_joined(_table(labels, test_set, authors)), buffer, options)
            return buffer.getvalue()
        case ".parquet":
            buffer = io.BytesIO()
            pyarrow.parquet.write_table(_table(labels, test_set, authors), buffer, compression="zstd")
            return buffer.getvalue()
    raise FormatError(f"labels are written as {', '.join(SUFFIXES)}, not as {suffix or 'a file without extension'}")


def _multilabel(labels: LabelSet, test_set: TestSet, suffix: str) -> dict[str, Any]:
    if suffix != ".json":
        raise FormatError("multilabel-v3 is JSON: give the file the extension .json")
    if labels.unlisted is Unlisted.WRONG:
        raise FormatError(
            f"multilabel-v3 cannot express that unlisted classes are wrong, as in {labels.full_name}: write it as plain"
        )
    major = next((slices.subsets[IMAGENET_M] for slices in test_set.slice_sets if IMAGENET_M in slices.subsets), None)
    return {
        "initial_annots": {image: lists for _, image, lists in _lists(labels, test_set)},
        "problematic_images": {test_set.ids[e]: reason for e, reason in enumerate(labels.reasons) if reason},
        "imagenet_m": [] if major is None else [test_set.ids[e] for e in np.flatnonzero(major).tolist()],
    }


def _plain_json(labels: LabelSet, test_set: TestSet, authors: LabelAuthors) -> dict[str, Any]:
    content = {}
    for example, image, lists in _lists(labels, test_set):
        entry: dict[str, Any] = {**lists}
        if reason := labels.reasons[example]:
            entry["problematic"] = reason
            if image_authors := authors.images.get(example):
                entry["problematic_by"], entry["problematic_at"] = list(image_authors.by), image_authors.iso_time
        content[image] = entry
    space = test_set.class_space
    for (example, class_index), pair_authors in authors.pairs.items():
        decided = {"class": space.ids[class_index], "by": list(pair_authors.by), "at": pair_authors.iso_time}
        content[test_set.ids[example]].setdefault("decided", []).append(decided)
    return content


def _lists(labels: LabelSet, test_set: TestSet) -> Iterator[tuple[int, str, dict[str, list[str]]]]:
    """Every covered example with its classes by state, in the order of the test set."""
    lists: dict[int, dict[str, list[str]]] = {
        int(example): {state.name.lower(): [] for state in _STATES} for example in np.flatnonzero(labels.covered)
    }
    for example, class_index, state in _judgments(labels):
        lists[example][LabelState(state).name.lower()].append(test_set.class_space.ids[class_index])
    for example, by_state in lists.items():
        yield example, test_set.ids[example], by_state


def _judgments(labels: LabelSet) -> Iterator[tuple[int, int, int]]:
    order = np.lexsort((labels.classes, labels.examples))
    yield from zip(
        labels.examples[order].tolist(), labels.classes[order].tolist(), labels.states[order].tolist(), strict=True
    )


def _table(labels: LabelSet, test_set: TestSet, authors: LabelAuthors) -> pa.Table:
    """One row per judgment, and one without a class for each image without judgments."""
    judged = list(_judgments(labels))
    bare = set(np.flatnonzero(labels.covered).tolist()) - {example for example, _, _ in judged}
    rows: list[tuple[int, int | None, int | None]] = sorted(
        [*judged, *((example, None, None) for example in bare)], key=lambda row: row[0]
    )
    space = test_set.class_space
    pair_authors = [None if c is None else authors.pairs.get((e, c)) for e, c, _ in rows]
    image_authors = [authors.images.get(e) if labels.reasons[e] else None for e, _, _ in rows]
    text, names, time = pa.string(), pa.list_(pa.string()), pa.timestamp("us", tz="UTC")
    columns = {
        "image": pa.array([test_set.ids[e] for e, _, _ in rows], text),
        "class": pa.array([None if c is None else space.ids[c] for _, c, _ in rows], text),
        "state": pa.array([None if s is None else LabelState(s).name.lower() for _, _, s in rows], text),
        "problematic": pa.array([labels.reasons[e] or None for e, _, _ in rows], text),
    }
    for prefix, row_authors in (("", pair_authors), ("problematic_", image_authors)):
        columns[f"{prefix}by"] = pa.array([decided and list(decided.by) for decided in row_authors], names)
        columns[f"{prefix}at"] = pa.array([decided and decided.at for decided in row_authors], time)
    return pa.table(columns)


def _joined(table: pa.Table) -> pa.Table:
    """The table with text columns only: names of several people are joined, and times are ISO 8601."""
    columns = dict(zip(table.column_names, table.columns, strict=True))
    for prefix in ("", "problematic_"):
        people, times = (columns[f"{prefix}{part}"].to_pylist() for part in ("by", "at"))
        columns[f"{prefix}by"] = pa.array([names and "; ".join(names) for names in people], pa.string())
        columns[f"{prefix}at"] = pa.array([time and Authors((), time).iso_time for time in times], pa.string())
    return pa.table(columns)


def _as_json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode()
