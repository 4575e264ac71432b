"""Examples in tables: their ids, labels and groups, and their positions in a test set."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from regrade.core import UNLABELED, ClassSpace, FormatError, InputError, MismatchError, TestSet, UnknownName
from regrade.core.amounts import amount
from regrade.core.arrays import IntArray
from regrade.tables.columns import Reading, ignored_columns, one_class_per_row, text_array
from regrade.tables.id_matching import NO_ROW, IdMatch, match_ids, match_some_ids

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
"""Usual names of a column of example ids; the first one that a table has is used."""

_NAMELESS = re.compile(r"unnamed: \d+")  # the name that pandas gives to a column without a name
_CONTROL = re.compile("[\x00-\x1f\x7f]")  # characters that are not allowed in ids
_SURE_ID_COLUMNS = ID_COLUMNS[:5]  # always ids, while tables often have a path or an index in addition to an id

LABEL_COLUMNS = ("wnid", "label", "target", "class", "ground_truth", "y_true")
"""Usual names of a column of labels."""


@dataclass(frozen=True)
class Columns:
    """The names of the id, label, group and prediction columns of a table; if empty, the usual names are tried."""

    id: str = ""
    label: str = ""
    groups: tuple[str, ...] = ()
    reading: Reading = Reading.AUTO
    predictions: tuple[str, ...] = ()

    def id_in(self, table: pa.Table) -> str:
        """The column of example ids."""
        return self.usual_id_in(table) or _missing(ID_COLUMNS, "example ids", "--id-column")

    def usual_id_in(self, table: pa.Table) -> str | None:
        """The column of example ids; None if no column has a usual name."""
        if not self.id:
            _refuse_two_ids(table)
        return _named(self.id, ID_COLUMNS, table, "example ids")

    def id_in_or_none(self, table: pa.Table) -> str | None:
        """As `usual_id_in`, and None too if two columns have different ids."""
        try:
            return self.usual_id_in(table)
        except InputError:
            return None

    def label_in(self, table: pa.Table) -> str | None:
        """The column of the test set's own labels; None if there is none."""
        return _named(self.label, LABEL_COLUMNS, table, "labels")

    def read_from(self, table: pa.Table) -> set[str]:
        """The columns that `read_examples` reads."""
        return {self.id_in(table), *self.groups} | ({label} if (label := self.label_in(table)) else set())

    def ignored_in(self, table: pa.Table, *also_used: str) -> tuple[str, ...]:
        """A note on columns that neither `read_examples` nor ``also_used`` covers; a misspelled label column raises."""
        optional = () if self.label_in(table) else LABEL_COLUMNS
        return ignored_columns(table, {*self.read_from(table), *also_used}, optional=optional)

    def used_in(self, table: pa.Table) -> set[str]:
        """All columns of ids, labels and groups, also those with usual names that are not used, and row numbers."""
        usual = {name for name in table.column_names if _is_usual(name.casefold())}
        return {self.id, self.label, *self.groups, *usual}


@dataclass(frozen=True)
class Examples:
    """Example ids in file order, with labels (n,) and groups if the file has them."""

    ids: tuple[str, ...]
    labels: IntArray | None
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def as_test_set(self, name: str, space: ClassSpace) -> TestSet:
        """A new test set of these examples, unlabeled if the file has no labels."""
        labels = np.full(len(self.ids), UNLABELED, dtype=np.int32) if self.labels is None else self.labels
        return TestSet(name, space, self.ids, labels, self.groups)

    def order_in(self, test_set: TestSet) -> IntArray:
        """Shape (n,): the row of each example of the test set.

        Missing and unknown examples raise, and so do labels that differ from those of the test set.
        """
        return self.matched_with(test_set).rows

    def matched_with(self, test_set: TestSet) -> IdMatch:
        """The row of each example of the test set, and how ids were compared; raise as `order_in` does."""
        return self._matched(test_set, matched_ids)

    def matched_with_some(self, test_set: TestSet) -> IdMatch:
        """As `matched_with`, for a file with some of the examples; the others get `NO_ROW`."""
        return self._matched(test_set, matched_some_ids)

    def _matched(self, test_set: TestSet, matched: Callable[[Sequence[str], Sequence[str], str], IdMatch]) -> IdMatch:
        if self.ids == test_set.ids:
            match = IdMatch(np.arange(len(test_set)))
        else:
            match = matched(test_set.ids, self.ids, test_set.name)
        places = np.flatnonzero(match.rows != NO_ROW)
        rows = match.rows[places]
        if self.labels is not None:
            labels = test_set.labels.copy()
            labels[places] = self.labels[rows]
            check_labels(labels, test_set)
        for column, values in self.groups.items():
            stored = test_set.groups.get(column)
            if stored is None or any(
                stored[place] != values[row] for place, row in zip(places.tolist(), rows.tolist(), strict=True)
            ):
                raise MismatchError(
                    f"test set {test_set.name} is stored without the group column {column!r}, or with other values: "
                    "omit --group, or import into a test set with another name"
                )
        return match


def read_examples(table: pa.Table, space: ClassSpace, columns: Columns) -> Examples:
    """Read ids, labels and groups from a table; duplicate ids and label columns that disagree raise."""
    id_column, label_column = columns.id_in(table), columns.label_in(table)
    ids = texts(table, id_column)
    check_unique(ids)
    check_ids(ids)
    labels = None
    if label_column is not None:
        labels = one_class_per_row(table[label_column], space, name=label_column, reading=columns.reading)
        if not columns.label:
            refuse_other_labels(table, label_column, labels, space, columns.reading)
    groups = {name: texts(table, _group_column(table, name)) for name in columns.groups}
    return Examples(ids, labels, groups)


def check_unique(ids: Sequence[str]) -> None:
    """Raise if an example id is repeated."""
    if len(set(ids)) == len(ids):
        return
    seen: set[str] = set()
    twice = next(i for i in ids if i in seen or seen.add(i))  # type: ignore[func-returns-value]
    raise FormatError(f"example {twice!r} occurs more than once: every example must occur exactly once")


def check_ids(ids: Sequence[str]) -> None:
    """Raise if an id has surrounding spaces or control characters, or if two ids differ only in their Unicode form.

    Case matters: a.png and A.png are two files.
    """
    for example in ids:
        if example != example.strip() or _CONTROL.search(example):
            raise FormatError(f"example {example!r} has surrounding spaces or control characters: remove them")
    forms: dict[str, str] = {}
    for example in ids:
        if not example.isascii() and forms.setdefault(_composed(example), example) != example:
            first = forms[_composed(example)]
            raise FormatError(
                f"examples {first!a} and {example!a} differ only in their Unicode form: rename one of them"
            )


def matched_ids(test_set_ids: Sequence[str], file_ids: Sequence[str], test_set: str) -> IdMatch:
    """Match ids one to one, if necessary without directories and extensions; raise if that is not possible."""
    if (match := match_ids(test_set_ids, file_ids)) is not None:
        return match
    rows = pc.index_in(text_array(test_set_ids), value_set=text_array(file_ids))
    if rows.null_count:
        absent = np.flatnonzero(rows.is_null().to_numpy(zero_copy_only=False))
        first = test_set_ids[absent[0]]
        raise MismatchError(
            f"{len(absent):,} of the {len(test_set_ids):,} examples of {test_set} are missing, for instance {first!r}: "
            f"every example must occur exactly once{_similar_id_hint(first, file_ids)}"
        )
    raise _unknown_examples(test_set_ids, file_ids, test_set)


def matched_some_ids(test_set_ids: Sequence[str], file_ids: Sequence[str], test_set: str) -> IdMatch:
    """Match every id of a file as `matched_ids` does, for a file with some of the examples."""
    if (match := match_some_ids(test_set_ids, file_ids)) is not None:
        return match
    raise _unknown_examples(test_set_ids, file_ids, test_set)


def _unknown_examples(test_set_ids: Sequence[str], file_ids: Sequence[str], test_set: str) -> MismatchError:
    distinct_ids = set(test_set_ids)
    unknown = [file_id for file_id in file_ids if file_id not in distinct_ids]
    count = amount(len(unknown), "example")
    are = "is" if len(unknown) == 1 else "are"
    return MismatchError(f"{count} {are} not in test set {test_set}, for instance {unknown[0]!r}")


def texts(table: pa.Table, name: str) -> tuple[str, ...]:
    """The cells of a column as text; empty cells raise."""
    column = table[name]
    if column.null_count:
        raise FormatError(f"column {name!r} has {column.null_count:,} empty cells")
    return optional_texts(table, name)


def optional_texts(table: pa.Table, name: str) -> tuple[str, ...]:
    """The cells of a column as text; that of an empty cell is empty."""
    column = table[name]
    if pa.types.is_nested(column.type):
        raise FormatError(f"column {name!r} contains {column.type}, not text")
    return tuple(text or "" for text in _as_text(column).to_pylist())


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.string())


def check_labels(labels: IntArray, test_set: TestSet) -> None:
    """Raise if labels (n,), in the order of a test set, differ from its own."""
    differs = np.flatnonzero(labels != test_set.labels)
    if differs.size:
        first = differs[0]
        space = test_set.class_space
        raise MismatchError(
            f"the labels differ from those of test set {test_set.name} for {len(differs):,} examples, for "
            f"instance {test_set.ids[first]!r}: {space.ids[labels[first]]} in the file, "
            f"{test_set.example(int(first)).label} in the test set"
        )


def column_named(table: pa.Table, *names: str) -> str | None:
    """The first of these names that a column has, ignoring case; columns that differ only in case raise."""
    for name in names:
        matching = [column for column in table.column_names if column.casefold() == name]
        if len(matching) > 1:
            raise FormatError(f"the columns {' and '.join(matching)} differ only in case: rename one of them")
        if matching:
            return matching[0]
    return None


def _refuse_two_ids(table: pa.Table) -> None:
    """Raise if two columns with usual names of id columns contain different ids."""
    named = [name for name in table.column_names if name.casefold() in _SURE_ID_COLUMNS]
    names = [name for name in named if not pa.types.is_nested(table[name].type)]
    if any(not _as_text(table[name]).equals(_as_text(table[names[0]])) for name in names[1:]):
        raise InputError(
            f"the example ids could be in any of the columns {' and '.join(names)}: choose one with --id-column"
        )


def refuse_other_labels(
    table: pa.Table, label_column: str, labels: IntArray, space: ClassSpace, reading: Reading
) -> None:
    """Raise if another column with a usual name of label columns contains different labels."""
    usual = [name for name in table.column_names if name.casefold() in LABEL_COLUMNS and name != label_column]
    for name in usual:
        try:
            also_labels = one_class_per_row(table[name], space, name=name, reading=reading)
        except InputError:
            continue  # the column contains something else, such as names
        if (differs := np.flatnonzero(labels != also_labels)).size:
            raise MismatchError(
                f"the columns {label_column} and {name} contain different labels in row {differs[0] + 1}: choose one "
                "with --label-column"
            )


def _similar_id_hint(example: str, file_ids: Sequence[str]) -> str:
    """A hint if the file has the id in another Unicode form or case, or with surrounding spaces."""
    plain = _composed(example.strip()).casefold()
    similar = next((file_id for file_id in file_ids if _composed(file_id.strip()).casefold() == plain), None)
    return "" if similar is None else f"; {similar!a} differs from it in case, spaces or Unicode form"


def _composed(example: str) -> str:
    return unicodedata.normalize("NFC", example)


def _named(name: str, usual: Sequence[str], table: pa.Table, what: str) -> str | None:
    if name:
        if name not in table.column_names:
            raise UnknownName(f"column for the {what}", name, table.column_names)
        return name
    return column_named(table, *usual)


def _is_usual(name: str) -> bool:
    """Whether a column has a usual name of ids or labels, or contains the row numbers without a name of pandas."""
    return name in (*ID_COLUMNS, *LABEL_COLUMNS, "") or _NAMELESS.fullmatch(name) is not None


def _missing(usual: Sequence[str], what: str, option: str) -> str:
    raise FormatError(f"there is no column with the {what}: name it {', '.join(usual[:3])}, or give it with {option}")


def _group_column(table: pa.Table, name: str) -> str:
    if name not in table.column_names:
        raise UnknownName("group column", name, table.column_names)
    return name
