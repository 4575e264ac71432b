"""Tables of results, independent of the output format: terminal, file, notebook or data frame."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, Self, TypeVar, overload

from regrade.core.errors import InputError, UndefinedError, UnknownName
from regrade.core.estimate import Estimate
from regrade.core.record import Collect, Record

if TYPE_CHECKING:
    import pandas
    import pyarrow

T = TypeVar("T")
P = ParamSpec("P")
_MANY = 8  # a single row with at least so many columns is printed as a list
_SHOWN_ROWS = 200  # of a table in a notebook

Cell = str | int | float | bool | Estimate | None
"""The type of a cell; undefined values are None."""


@dataclass(frozen=True)
class Column:
    """A column: its key in data files and its heading in printed tables.

    ``percent`` prints fractions and estimates as percentages; ``digits`` is the number of decimals;
    numbers below ``floor`` are printed as "< floor". A column of ``detail`` is left out first on a narrow terminal.
    """

    key: str
    heading: str
    percent: bool = True
    digits: int = 1
    floor: float | None = None
    detail: bool = False


class MappedRows(Sequence[tuple[Cell, ...]]):
    """Rows that are computed from ``items`` on demand, for very long tables; all rows have the same cell types."""

    def __init__(self, items: Sequence[T], row: Callable[[T], tuple[Cell, ...]]) -> None:
        self._items = items
        self._row = row

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> tuple[Cell, ...]: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[tuple[Cell, ...], ...]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return tuple(map(self._row, self._items[index]))
        return self._row(self._items[index])

    def __iter__(self) -> Iterator[tuple[Cell, ...]]:
        return map(self._row, self._items)


@dataclass(frozen=True, repr=False)
class Table:
    """A table: a title, columns, rows of cells, and notes."""

    title: str
    columns: tuple[Column, ...]
    rows: Sequence[tuple[Cell, ...]]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        width = len(self.columns)
        if any(len(row) != width for row in self._sampled):
            raise InputError(f"every row of table {self.title!r} must have {width} cells")

    def texts(self) -> list[list[str]]:
        """Every cell as printed text; undefined values are a dash."""
        return [[cell_text(cell, column) for cell, column in zip(row, self.columns, strict=True)] for row in self.rows]

    def records(self) -> list[dict[str, Any]]:
        """Every row as plain values; an estimate becomes ``key``, ``key_low``, ``key_high`` and ``key_n``."""
        return list(self.iter_records())

    def iter_records(self) -> Iterator[dict[str, Any]]:
        """Iterate over the records."""
        spread = self._estimate_columns()
        return (self._record(row, spread) for row in self.rows)

    def to_arrow(self) -> pyarrow.Table:
        """The rows as an Arrow table, with estimates expanded as in `records`."""
        import pyarrow

        rows = self.records()
        keys = rows[0] if rows else [column.key for column in self.columns]
        return pyarrow.table({key: [row[key] for row in rows] for key in keys})

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas data frame (pandas must be installed)."""
        return self.to_arrow().to_pandas()

    def _estimate_columns(self) -> frozenset[int]:
        return frozenset(j for row in self._sampled for j, cell in enumerate(row) if isinstance(cell, Estimate))

    @property
    def _sampled(self) -> Sequence[tuple[Cell, ...]]:
        """The rows that are inspected: all of them, or only the first if rows are computed on demand."""
        return self.rows[:1] if isinstance(self.rows, MappedRows) else self.rows

    def _record(self, row: tuple[Cell, ...], spread: frozenset[int]) -> dict[str, Any]:
        record: dict[str, Any] = {}
        for j, (cell, column) in enumerate(zip(row, self.columns, strict=True)):
            if j not in spread:
                record[column.key] = cell
                continue
            estimate = cell if isinstance(cell, Estimate) else None
            record[column.key] = estimate.value if estimate else None
            for part in ("low", "high", "n", "method"):
                record[f"{column.key}_{part}"] = getattr(estimate, part) if estimate else None
        return record

    def numeric(self) -> tuple[bool, ...]:
        """Which columns contain numbers, and are right-aligned."""
        places = range(len(self.columns))
        return tuple(any(isinstance(row[j], int | float | Estimate) for row in self.rows) for j in places)

    @property
    def is_list(self) -> bool:
        """Whether the table is printed as a list, one line per column: a single row with many columns."""
        return len(self.rows) == 1 and len(self.columns) >= _MANY

    def __str__(self) -> str:
        headings = [column.heading for column in self.columns]
        if self.is_list:
            width = max(map(len, headings))
            items = zip(headings, self.texts()[0], strict=True)
            return "\n".join([self.title, *(f"{name.ljust(width)}  {text}" for name, text in items), *self.notes])
        lines = [headings, *self.texts()]
        widths = [max(len(line[j]) for line in lines) for j in range(len(self.columns))]
        body = [
            "  ".join(
                text.rjust(width) if right else text.ljust(width)
                for text, width, right in zip(line, widths, self.numeric(), strict=True)
            ).rstrip()
            for line in lines
        ]
        return "\n".join([self.title, *body, *self.notes])

    def __repr__(self) -> str:
        return str(self._shortened())

    def _repr_html_(self) -> str:
        return self._shortened()._html()

    def _shortened(self) -> Table:
        """The table as notebooks and the interpreter show it: a long one has only its first rows."""
        if len(self.rows) <= _SHOWN_ROWS:
            return self
        note = f"the first {_SHOWN_ROWS} of {len(self.rows):,} rows; to_pandas() has all"
        return replace(self, rows=tuple(self.rows[:_SHOWN_ROWS]), notes=(note, *self.notes))

    def _html(self) -> str:
        styles = [' style="text-align:right"' if right else ' style="text-align:left"' for right in self.numeric()]
        heading = _html_row("th", [column.heading for column in self.columns], styles)
        body = "".join(_html_row("td", row, styles) for row in self.texts())
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return (
            f"<table><caption>{html.escape(self.title)}</caption>"
            f"<thead>{heading}</thead><tbody>{body}</tbody></table>{notes}"
        )


class Tabular(Record, ABC):
    """A result that can be printed, drawn, exported as a table, and written as JSON.

    ``len``, iteration and indexing by position or by name are those of its records: the field that the class names with
    ``records``, or the rows of its table as dictionaries. A name is the first text of a record, such as its model; a
    pair of names are the first two, such as model and slice.

    ``coverage_notes`` say which models have predictions on some of the images only; every table has them, and so
    has JSON if there are any.
    """

    _records_field: ClassVar[str] = ""
    _draw: ClassVar[Callable[[Any], Any] | None] = None
    coverage_notes: ClassVar[tuple[str, ...]] = ()  # of an instance after `with_coverage`

    def __init_subclass__(cls, *, records: str = "", **named: Any) -> None:
        super().__init_subclass__(**named)
        cls._records_field = records or cls._records_field
        for name in ("table", "part"):
            if name in vars(cls):
                setattr(cls, name, _with_coverage(vars(cls)[name]))

    def with_coverage(self, notes: tuple[str, ...]) -> Self:
        """The result, whose tables then have these notes on models with predictions on some of the images only."""
        object.__setattr__(self, "coverage_notes", notes)
        return self

    def as_dict(self, collect: Collect = list) -> dict[str, Any]:
        """The record as a dictionary for JSON."""
        coverage = {"coverage_notes": list(self.coverage_notes)} if self.coverage_notes else {}
        return {**super().as_dict(collect), **coverage}

    def __str__(self) -> str:
        return str(self.table())

    def __repr__(self) -> str:
        return repr(self.table())

    def __len__(self) -> int:
        return len(self._records)

    def __bool__(self) -> bool:
        return True  # also without a record: a result exists

    def __iter__(self) -> Iterator[Any]:
        return iter(self._records)

    def __contains__(self, key: object) -> bool:
        return any(_is_named(record, key) for record in self._records)

    def __getitem__(self, key: int | slice | str | tuple[str, ...]) -> Any:
        """The record at a position or with a name, the first if several have it; an unknown name raises."""
        if isinstance(key, int | slice):
            return self._records[key]
        records = self._records
        matching = next((record for record in records if _is_named(record, key)), None)
        if matching is None:
            names = dict.fromkeys(names[0] for record in records if (names := _names_of(record)))
            raise UnknownName("row", key if isinstance(key, str) else ", ".join(map(str, key)), names)
        return matching

    @property
    def _records(self) -> Sequence[Any]:
        if self._records_field:
            return getattr(self, self._records_field)
        table = self.table()
        keys = [column.key for column in table.columns]
        return [dict(zip(keys, row, strict=True)) for row in table.rows]

    @abstractmethod
    def table(self) -> Table:
        """The result as a table."""

    def figure(self) -> Any:
        """The figure of the result, shown in a notebook and written with ``save``; raises if it has none."""
        if self._draw is None:
            raise UndefinedError(f"a {type(self).__name__} has no figure: use table()")
        return self._draw()

    @classmethod
    def draw_with(cls, draw: Callable[[Any], Any]) -> None:
        """Set the function that draws results of this class."""
        cls._draw = draw

    def to_arrow(self) -> pyarrow.Table:
        """The table as Arrow."""
        return self.table().to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a pandas data frame (pandas must be installed)."""
        return self.table().to_pandas()

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def _with_coverage(method: Callable[P, Table]) -> Callable[P, Table]:
    """A method that returns a table, with the coverage among its notes."""

    @wraps(method)
    def noted(*arguments: P.args, **named: P.kwargs) -> Table:
        table = method(*arguments, **named)
        result: Any = arguments[0]
        missing = tuple(note for note in result.coverage_notes if note not in table.notes)
        return replace(table, notes=(*table.notes, *missing)) if missing else table

    return noted


def _names_of(record: Any) -> list[str]:
    """The texts of a record, in the order of its fields."""
    values = record.values() if isinstance(record, dict) else (getattr(record, part.name) for part in fields(record))
    return [value for value in values if isinstance(value, str)]


def _is_named(record: Any, key: object) -> bool:
    names = _names_of(record)
    return names[:1] == [key] if isinstance(key, str) else isinstance(key, tuple) and tuple(names[: len(key)]) == key


def _html_row(tag: str, texts: list[str], styles: list[str]) -> str:
    cells = "".join(f"<{tag}{style}>{html.escape(text)}</{tag}>" for text, style in zip(texts, styles, strict=True))
    return f"<tr>{cells}</tr>"


def cell_text(cell: Cell, column: Column) -> str:
    """The printed text of a cell."""
    digits = column.digits
    match cell:
        case None:
            return "–"
        case bool():
            return "yes" if cell else "no"
        case int():
            return f"{cell:,}"
        case float():
            return _number_text(cell, column)
        case Estimate():
            scale = 100 if column.percent else 1
            value, low, high = (scale * x for x in (cell.value, cell.low, cell.high))
            return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"
        case _:
            return str(cell)


def _number_text(value: float, column: Column) -> str:
    """The printed text of a number; small numbers keep significant digits, such as a p-value of 1e-9."""
    digits = column.digits
    if column.floor is not None and value < column.floor:
        return f"< {column.floor:g}"
    if column.percent:
        return f"{100 * value:.{digits}f}"
    if value != 0 and abs(value) < 10**-digits:
        return f"{value:.2g}"
    return f"{value:.{digits}f}"
