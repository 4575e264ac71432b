"""The example ids, labels and groups that a file of predictions or labels brings along."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from regrade.core import UNLABELED, ClassSpace, FormatError, InputError, MismatchError, TestSet, UnknownName
from regrade.core.arrays import IntArray
from regrade.tables.class_columns import Reading, one_class_each
from regrade.tables.ignored_columns import ignored_columns
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

_NAMELESS = re.compile(r"unnamed: \d+")  # what pandas calls a column without a name
_SURE_ID_COLUMNS = ID_COLUMNS[:5]  # these hold ids and nothing else, while a path or an index often stands beside an id

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
        if not self.id:
            _refuse_two_ids(table)
        return _named(self.id, ID_COLUMNS, table, "example ids")

    def label_in(self, table: pa.Table) -> str | None:
        """The column of the test set's own labels, if there is one."""
        return _named(self.label, LABEL_COLUMNS, table, "labels")

    def read_from(self, table: pa.Table) -> set[str]:
        """The columns that `read_examples` reads."""
        return {self.id_in(table), *self.groups} | ({label} if (label := self.label_in(table)) else set())

    def ignored_in(self, table: pa.Table, *also_used: str) -> tuple[str, ...]:
        """A note on the columns that `read_examples` does not read and no one else uses; a misspelled label raises."""
        optional = () if self.label_in(table) else LABEL_COLUMNS
        return ignored_columns(table, {*self.read_from(table), *also_used}, optional=optional)

    def used_in(self, table: pa.Table) -> set[str]:
        """All columns that speak of the examples, also where others were chosen, and nameless ones (row numbers)."""
        usual = {name for name in table.column_names if _is_usual(name.casefold())}
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
            check_labels(self.labels[rows], test_set)
        for column, values in self.groups.items():
            if test_set.groups.get(column) != tuple(values[row] for row in rows):
                raise MismatchError(
                    f"test set {test_set.name} is stored without this group column {column!r}, or with other values: "
                    "leave out --group, or import under another test set's name"
                )
        return rows


def read_examples(table: pa.Table, space: ClassSpace, columns: Columns) -> Examples:
    """Read ids, labels and groups from a table; an id that stands twice raises, and so do labels that disagree."""
    id_column, label_column = columns.id_in(table), columns.label_in(table)
    ids = texts(table, id_column)
    check_unique(ids)
    check_ids(ids)
    labels = None
    if label_column is not None:
        labels = one_class_each(table[label_column], space, name=label_column, reading=columns.reading)
        if not columns.label:
            refuse_other_labels(table, label_column, labels, space, columns.reading)
    groups = {name: texts(table, _group_column(table, name)) for name in columns.groups}
    return Examples(ids, labels, groups)


def check_unique(ids: Sequence[str]) -> None:
    """Raise where an example id stands twice."""
    if len(set(ids)) == len(ids):
        return
    seen: set[str] = set()
    twice = next(i for i in ids if i in seen or seen.add(i))  # type: ignore[func-returns-value]
    raise FormatError(f"example {twice!r} stands more than once: every example must stand exactly once")


def check_ids(ids: Sequence[str]) -> None:
    """Raise where an id has blanks around it or control characters in it, or two ids differ in blanks or form only.

    Case counts: a.png and A.png are two files.
    """
    for example in ids:
        if example != example.strip() or any(map(_is_control, example)):
            raise FormatError(f"example {example!r} has blanks around it or control characters in it: remove them")
    forms: dict[str, str] = {}
    for example in ids:
        if not example.isascii() and forms.setdefault(_composed(example), example) != example:
            first = forms[_composed(example)]
            raise FormatError(
                f"examples {first!a} and {example!a} differ in their Unicode form only: rename one of them"
            )


def rows_of(wanted: Sequence[str], given: Sequence[str], test_set: str) -> IntArray:
    """Shape (n,): the row of each wanted id among the given ones; both must hold the same ids."""
    rows = pc.index_in(text_array(wanted), value_set=text_array(given))
    if rows.null_count:
        absent = np.flatnonzero(rows.is_null().to_numpy(zero_copy_only=False))
        first = wanted[absent[0]]
        raise MismatchError(
            f"{len(absent):,} of the {len(wanted):,} examples of {test_set} are missing, for instance {first!r}: every "
            f"example must stand exactly once{_lookalike(first, given)}"
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
    return tuple(_as_text(column).to_pylist())


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.string())


def check_labels(labels: IntArray, test_set: TestSet) -> None:
    """Raise where labels (n,), in the order of a test set, are not its own."""
    differs = np.flatnonzero(labels != test_set.labels)
    if differs.size:
        first = differs[0]
        space = test_set.class_space
        raise MismatchError(
            f"the labels differ from those of test set {test_set.name} for {len(differs):,} examples, for "
            f"instance {test_set.ids[first]!r}: {space.ids[labels[first]]} here, "
            f"{test_set.example(int(first)).label} there"
        )


def column_named(table: pa.Table, *names: str) -> str | None:
    """The column with the first of some names that is there, whatever its case; two that differ in case only raise."""
    for name in names:
        matching = [column for column in table.column_names if column.casefold() == name]
        if len(matching) > 1:
            raise FormatError(f"the columns {' and '.join(matching)} differ in case only: rename one of them")
        if matching:
            return matching[0]
    return None


def _refuse_two_ids(table: pa.Table) -> None:
    """Raise where two columns are called as ids are and hold different ones."""
    named = [name for name in table.column_names if name.casefold() in _SURE_ID_COLUMNS]
    names = [name for name in named if not pa.types.is_nested(table[name].type)]
    if any(not _as_text(table[name]).equals(_as_text(table[names[0]])) for name in names[1:]):
        raise InputError(
            f"the columns {' and '.join(names)} could all hold the example ids: say which with --id-column"
        )


def refuse_other_labels(
    table: pa.Table, label_column: str, labels: IntArray, space: ClassSpace, reading: Reading
) -> None:
    """Raise where another column is called as labels are, holds classes, and they are not the same."""
    usual = [name for name in table.column_names if name.casefold() in LABEL_COLUMNS and name != label_column]
    for name in usual:
        try:
            also_labels = one_class_each(table[name], space, name=name, reading=reading)
        except InputError:
            continue  # it holds something else, such as names
        if (differs := np.flatnonzero(labels != also_labels)).size:
            raise MismatchError(
                f"the columns {label_column} and {name} hold different labels in row {differs[0]}: say which to use "
                "with --label-column"
            )


def _lookalike(example: str, given: Sequence[str]) -> str:
    """A hint where an id is there in another Unicode form, case or with blanks around it."""
    plain = _composed(example.strip()).casefold()
    near = next((each for each in given if _composed(each.strip()).casefold() == plain), None)
    return "" if near is None else f"; {near!a} differs from it in case, blanks or Unicode form"


def _composed(example: str) -> str:
    return unicodedata.normalize("NFC", example)


def _is_control(letter: str) -> bool:
    return letter < " " or letter == "\x7f"


def _named(given: str, usual: Sequence[str], table: pa.Table, what: str) -> str | None:
    if given:
        if given not in table.column_names:
            raise UnknownName(f"column for the {what}", given, table.column_names)
        return given
    return column_named(table, *usual)


def _is_usual(name: str) -> bool:
    """Whether a column speaks of the examples: by a usual name, or as the nameless row numbers that pandas writes."""
    return name in (*ID_COLUMNS, *LABEL_COLUMNS, "") or _NAMELESS.fullmatch(name) is not None


def _missing(usual: Sequence[str], what: str, option: str) -> str:
    raise FormatError(f"there is no column with the {what}: call it {', '.join(usual[:3])}, or name it by {option}")


def _group_column(table: pa.Table, name: str) -> str:
    if name not in table.column_names:
        raise UnknownName("group column", name, table.column_names)
    return name
