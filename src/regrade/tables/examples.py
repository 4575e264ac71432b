"""The example ids, labels and groups that a file of predictions or labels brings along."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from regrade.core import UNLABELED, ClassSpace, FormatError, MismatchError, TestSet, UnknownName
from regrade.core.arrays import IntArray
from regrade.tables.class_columns import Reading, one_class_each
from regrade.tables.number_columns import number_array
from regrade.tables.text_columns import text_array

ID_COLUMNS = (
    "image",
    "example",
    "image_id",
    "example_id",
    "id",
    "filename",
    "file_name",
    "file",
    "path",
    "index",
)
"""What a column of example ids is usually called; the first that is there is taken."""

LABEL_COLUMNS = ("wnid", "label", "target", "class", "ground_truth", "y_true")
"""What a column of labels is usually called."""


@dataclass(frozen=True)
class Columns:
    """Which columns of a table speak of the examples; empty means found by their usual names."""

    id: str = ""
    label: str = ""
    groups: tuple[str, ...] = ()
    reading: Reading = Reading.AUTO

    def id_in(self, table: pa.Table) -> str:
        """The column of example ids."""
        return self.usual_id_in(table) or _missing(ID_COLUMNS, "example ids", "--id-column")

    def usual_id_in(self, table: pa.Table) -> str | None:
        """The column of example ids, none if there is none with a usual name."""
        return _named(self.id, ID_COLUMNS, table, "example ids")

    def label_in(self, table: pa.Table) -> str | None:
        """The column of the test set's own labels, if there is one."""
        return _named(self.label, LABEL_COLUMNS, table, "labels")

    def used_in(self, table: pa.Table) -> set[str]:
        """All columns that speak of the examples, also where others were chosen, and nameless ones (row numbers)."""
        usual = {name for name in table.column_names if name.casefold() in (*ID_COLUMNS, *LABEL_COLUMNS, "")}
        return {self.id_in(table), self.label, *self.groups, *usual}


@dataclass(frozen=True)
class Examples:
    """Example ids in file order, with labels (n,) and groups where the file has them."""

    ids: tuple[str, ...]
    labels: IntArray | None
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def as_test_set(self, name: str, space: ClassSpace) -> TestSet:
        """A new test set of these examples, unlabeled where the file has no labels."""
        labels = np.full(len(self.ids), UNLABELED, dtype=np.int32) if self.labels is None else self.labels
        return TestSet(name, space, self.ids, labels, self.groups)

    def order_in(self, test_set: TestSet) -> IntArray:
        """Shape (n,): for each example of the test set its row here; every example exactly once.

        Missing examples, unknown ones and labels that differ from the test set's raise.
        """
        if self.ids == test_set.ids:
            rows: IntArray = np.arange(len(test_set))
        else:
            rows = rows_of(test_set.ids, self.ids, test_set.name)
        if self.labels is not None:
            _same_labels(self.labels[rows], test_set)
        for column, values in self.groups.items():
            if test_set.groups.get(column) != tuple(values[row] for row in rows):
                raise MismatchError(
                    f"test set {test_set.name} is stored without this group column {column!r}, or with other values: "
                    "leave out --group, or import under another test set's name"
                )
        return rows


def read_examples(table: pa.Table, space: ClassSpace, columns: Columns) -> Examples:
    """Read ids, labels and groups from a table; an id that stands twice raises."""
    id_column, label_column = columns.id_in(table), columns.label_in(table)
    ids = texts(table, id_column)
    check_unique(ids)
    labels = None
    if label_column is not None:
        labels = one_class_each(table[label_column], space, name=label_column, reading=columns.reading)
    groups = {name: texts(table, _group_column(table, name)) for name in columns.groups}
    return Examples(ids, labels, groups)


def check_unique(ids: Sequence[str]) -> None:
    """Raise where an example id stands twice."""
    if len(set(ids)) == len(ids):
        return
    seen: set[str] = set()
    twice = next(i for i in ids if i in seen or seen.add(i))  # type: ignore[func-returns-value]
    raise FormatError(f"example {twice!r} stands more than once: every example must stand exactly once")


def rows_of(wanted: Sequence[str], given: Sequence[str], test_set: str) -> IntArray:
    """Shape (n,): the row of each wanted id among the given ones; both must hold the same ids."""
    rows = pc.index_in(text_array(wanted), value_set=text_array(given))
    if rows.null_count:
        absent = np.flatnonzero(rows.is_null().to_numpy(zero_copy_only=False))
        raise MismatchError(
            f"{len(absent):,} of the {len(wanted):,} examples of {test_set} are missing, "
            f"for instance {wanted[absent[0]]!r}: every example must stand exactly once"
        )
    if len(given) != len(wanted):
        known = set(wanted)
        stranger = next(i for i in given if i not in known)
        raise MismatchError(
            f"{len(given) - len(wanted):,} examples are not in test set {test_set}, for instance {stranger!r}"
        )
    return number_array(rows)


def texts(table: pa.Table, name: str) -> tuple[str, ...]:
    """A column as text; an empty cell raises."""
    column = table[name]
    if column.null_count:
        raise FormatError(f"column {name!r} has {column.null_count:,} empty cells")
    if pa.types.is_nested(column.type):
        raise FormatError(f"column {name!r} holds {column.type}, not text")
    return tuple(column.cast(pa.string()).to_pylist())


def _same_labels(labels: IntArray, test_set: TestSet) -> None:
    differs = np.flatnonzero(labels != test_set.labels)
    if differs.size:
        first = differs[0]
        space = test_set.class_space
        raise MismatchError(
            f"the labels differ from those of test set {test_set.name} for {len(differs):,} examples, for "
            f"instance {test_set.ids[first]!r}: {space.ids[labels[first]]} here, "
            f"{test_set.example(int(first)).label} there"
        )


def _named(given: str, usual: Sequence[str], table: pa.Table, what: str) -> str | None:
    if given:
        if given not in table.column_names:
            raise UnknownName(f"column for the {what}", given, table.column_names)
        return given
    named = {name.casefold(): name for name in reversed(table.column_names)}
    return next((named[name] for name in usual if name in named), None)


def _missing(usual: Sequence[str], what: str, option: str) -> str:
    raise FormatError(f"there is no column with the {what}: call it {', '.join(usual[:3])}, or name it by {option}")


def _group_column(table: pa.Table, name: str) -> str:
    if name not in table.column_names:
        raise UnknownName("group column", name, table.column_names)
    return name
