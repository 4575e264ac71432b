"""Labels as a file that others can read, and `regrade import labels` too: plain tables or JSON, multi-label v3."""

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
from regrade.store.label_files import IMAGENET_M, LabelFormat

SUFFIXES = (".csv", ".json", ".parquet")
_STATES = (LabelState.CORRECT, LabelState.UNCLEAR, LabelState.WRONG)


@dataclass(frozen=True)
class Authors:
    """Who decided something, and when."""

    by: tuple[str, ...]
    at: datetime

    @property
    def moment(self) -> str:
        """The time as text."""
        return f"{self.at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"


@dataclass(frozen=True)
class KnownAuthors:
    """Who decided on classes, by example and class, and on images that are problematic."""

    pairs: Mapping[tuple[int, int], Authors] = field(default_factory=dict)
    images: Mapping[int, Authors] = field(default_factory=dict)


def labels_as_file(
    labels: LabelSet, test_set: TestSet, suffix: str, *, form: LabelFormat, authors: KnownAuthors
) -> bytes:
    """Labels in a form that is read back as the same labels; one that cannot hold them raises.

    Plain files have authors and times; multi-label v3 does not know them.
    """
    ending = suffix.lower()
    if form is LabelFormat.MULTILABEL_V3:
        return _as_json(_multilabel(labels, test_set, ending))
    if form is not LabelFormat.PLAIN:
        raise FormatError(f"labels are written as plain or multilabel-v3, not as {form.value}")
    match ending:
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
    raise FormatError(f"labels are written as {', '.join(SUFFIXES)}, not as {suffix or 'a file without an ending'}")


def _multilabel(labels: LabelSet, test_set: TestSet, suffix: str) -> dict[str, Any]:
    if suffix != ".json":
        raise FormatError("multilabel-v3 is JSON: give the file the ending .json")
    if labels.unlisted is Unlisted.WRONG:
        raise FormatError(
            f"multilabel-v3 cannot say that classes which are not listed are wrong, as {labels.full_name} does: "
            "write it as plain"
        )
    major = next((one.subsets[IMAGENET_M] for one in test_set.slice_sets if IMAGENET_M in one.subsets), None)
    return {
        "initial_annots": {image: lists for _, image, lists in _lists(labels, test_set)},
        "problematic_images": {test_set.ids[e]: reason for e, reason in enumerate(labels.reasons) if reason},
        "imagenet_m": [] if major is None else [test_set.ids[e] for e in np.flatnonzero(major).tolist()],
    }


def _plain_json(labels: LabelSet, test_set: TestSet, authors: KnownAuthors) -> dict[str, Any]:
    content = {}
    for example, image, lists in _lists(labels, test_set):
        entry: dict[str, Any] = {**lists}
        if reason := labels.reasons[example]:
            entry["problematic"] = reason
            if known := authors.images.get(example):
                entry["problematic_by"], entry["problematic_at"] = list(known.by), known.moment
        content[image] = entry
    space = test_set.class_space
    for (example, class_index), known in authors.pairs.items():
        decided = {"class": space.ids[class_index], "by": list(known.by), "at": known.moment}
        content[test_set.ids[example]].setdefault("decided", []).append(decided)
    return content


def _lists(labels: LabelSet, test_set: TestSet) -> Iterator[tuple[int, str, dict[str, list[str]]]]:
    """Every covered example with its classes by state, in the order of the test set."""
    lists: dict[int, dict[str, list[str]]] = {
        int(example): {state.name.lower(): [] for state in _STATES} for example in np.flatnonzero(labels.covered)
    }
    for example, class_index, state in _judgments(labels):
        lists[example][LabelState(state).name.lower()].append(test_set.class_space.ids[class_index])
    for example, found in lists.items():
        yield example, test_set.ids[example], found


def _judgments(labels: LabelSet) -> Iterator[tuple[int, int, int]]:
    order = np.lexsort((labels.classes, labels.examples))
    yield from zip(
        labels.examples[order].tolist(), labels.classes[order].tolist(), labels.states[order].tolist(), strict=True
    )


def _table(labels: LabelSet, test_set: TestSet, authors: KnownAuthors) -> pa.Table:
    """One row a judgment, and one with no class for an image that has none."""
    judged = list(_judgments(labels))
    bare = set(np.flatnonzero(labels.covered).tolist()) - {example for example, _, _ in judged}
    rows: list[tuple[int, int | None, int | None]] = sorted(
        [*judged, *((example, None, None) for example in bare)], key=lambda row: row[0]
    )
    space = test_set.class_space
    found = [None if c is None else authors.pairs.get((e, c)) for e, c, _ in rows]
    problems = [authors.images.get(e) if labels.reasons[e] else None for e, _, _ in rows]
    text, names, moment = pa.string(), pa.list_(pa.string()), pa.timestamp("us", tz="UTC")
    columns = {
        "image": pa.array([test_set.ids[e] for e, _, _ in rows], text),
        "class": pa.array([None if c is None else space.ids[c] for _, c, _ in rows], text),
        "state": pa.array([None if s is None else LabelState(s).name.lower() for _, _, s in rows], text),
        "problematic": pa.array([labels.reasons[e] or None for e, _, _ in rows], text),
    }
    for prefix, known in (("", found), ("problematic_", problems)):
        columns[f"{prefix}by"] = pa.array([one and list(one.by) for one in known], names)
        columns[f"{prefix}at"] = pa.array([one and one.at for one in known], moment)
    return pa.table(columns)


def _joined(table: pa.Table) -> pa.Table:
    """The table with texts only: names of several people are joined, and times are ISO."""
    columns = dict(zip(table.column_names, table.columns, strict=True))
    for prefix in ("", "problematic_"):
        people, times = (columns[f"{prefix}{part}"].to_pylist() for part in ("by", "at"))
        columns[f"{prefix}by"] = pa.array([one and "; ".join(one) for one in people], pa.string())
        columns[f"{prefix}at"] = pa.array([one and Authors((), one).moment for one in times], pa.string())
    return pa.table(columns)


def _as_json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode()
