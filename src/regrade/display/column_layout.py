"""The columns of a table that fit a terminal: which are shown, how wide each is, and how long names are shortened."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len

from regrade.core import Table

GAP = 2
"""Spaces between two columns."""

_HEADING_LINES = 2  # a heading takes up to so many lines before it widens its column
_NAME = 24  # names with more letters are shortened if the table does not fit otherwise
_NARROWEST = 12  # a column of texts is not narrower than this, or than its longest text


@dataclass(frozen=True)
class ShownColumn:
    """A column with the printed ``texts`` of its cells, and its ``width`` in letters."""

    heading: str
    texts: tuple[str, ...]
    is_number: bool
    width: int


@dataclass(frozen=True)
class ColumnLayout:
    """The columns that are shown, and the headings of the ``hidden`` ones."""

    columns: tuple[ShownColumn, ...]
    hidden: tuple[str, ...] = ()


def column_layout(table: Table, width: int) -> ColumnLayout:
    """Choose the columns of a table for a terminal of this width.

    The columns that are not marked as ``detail`` come first. If they do not fit, texts are wrapped at words, names are
    shortened in the middle, and as a last resort the last columns are hidden. Details are added while there is room.
    """
    columns = whole_columns(table).columns
    essential = [place for place, column in enumerate(table.columns) if not column.detail] or list(range(len(columns)))
    while len(essential) > 1 and _least_width(columns[place] for place in essential) > width:
        essential.pop()
    shown = list(essential)
    for place, column in enumerate(table.columns):
        if column.detail and _total(columns[j].width for j in (*shown, place)) <= width:
            shown.append(place)
    hidden = [column.heading for place, column in enumerate(columns) if place not in shown]
    return ColumnLayout(_fitted([columns[place] for place in sorted(shown)], width), tuple(hidden))


def whole_columns(table: Table) -> ColumnLayout:
    """All columns of a table, as wide as their texts."""
    texts = table.texts()
    columns = []
    for place, (column, is_number) in enumerate(zip(table.columns, table.numeric(), strict=True)):
        cells = tuple(row[place] for row in texts)
        width = max(max(map(cell_len, cells), default=0), _heading_width(column.heading))
        columns.append(ShownColumn(column.heading, cells, is_number, width))
    return ColumnLayout(tuple(columns))


def short_names(names: Sequence[str], width: int) -> dict[str, str]:
    """The names, those of more than ``width`` letters shortened in the middle; names that differ stay different.

    >>> names = ["timm:vit_base_patch16_224.augreg2_in21k", "timm:vit_base_patch32_224.augreg2_in21k"]
    >>> list(short_names(names, 24).values())
    ['timm…6_224.augreg2_in21k', 'timm…2_224.augreg2_in21k']
    """
    distinct = list(dict.fromkeys(names))
    if all(len(name) <= width for name in distinct):
        return {name: name for name in distinct}
    starts = [(width - 1) // 2, *((width - 1) * part // 10 for part in (7, 3, 8, 2, 9, 1)), width - 1, 0]
    for start in starts:
        short = {name: _shortened(name, width, start) for name in distinct}
        if len(set(short.values())) == len(distinct):
            return short
    return short_names(distinct, width + 4)


def _shortened(name: str, width: int, start: int) -> str:
    return name if len(name) <= width else f"{name[:start]}…{name[len(name) - (width - 1 - start) :]}"


def _fitted(columns: list[ShownColumn], width: int) -> tuple[ShownColumn, ...]:
    """The columns, made narrower until they fit: headings first, then texts, the widest column first."""
    for can_shrink in (lambda column: column.is_number, lambda column: not column.is_number):
        while (excess := _total(column.width for column in columns) - width) > 0:
            spare = {j: column.width - _least(column) for j, column in enumerate(columns) if can_shrink(column)}
            widest = max((j for j in spare if spare[j] > 0), key=lambda j: columns[j].width, default=None)
            if widest is None:
                break
            taken = min(spare[widest], max(1, excess // 2))
            columns[widest] = replace(columns[widest], width=columns[widest].width - taken)
    return tuple(map(_with_short_names, columns))


def _with_short_names(column: ShownColumn) -> ShownColumn:
    """The column with words shortened that are wider than it; the text of a cell is wrapped at its other words."""
    words = [word for text in column.texts for word in text.split(" ")]
    if column.is_number or max(map(cell_len, words), default=0) <= column.width:
        return column
    short = short_names(words, column.width)
    texts = tuple(" ".join(short[word] for word in text.split(" ")) for text in column.texts)
    return replace(column, texts=texts, width=max(map(len, short.values())))


def _least_width(columns: Iterable[ShownColumn]) -> int:
    return _total(map(_least, columns))


def _least(column: ShownColumn) -> int:
    """The smallest width at which no word and no number is broken; long names may be shortened."""
    heading = _longest_word((column.heading,))
    cells = max(map(cell_len, column.texts), default=0)
    if column.is_number:
        return max(heading, cells)
    words = [word for text in column.texts for word in text.split(" ")]
    longest = max(map(cell_len, short_names(words, _NAME).values()), default=0)
    return max(heading, longest, min(cells, _NARROWEST))


def _heading_width(heading: str) -> int:
    """The width at which a heading takes few lines."""
    narrowest = max(_longest_word((heading,)), 1)
    fitting = (w for w in range(narrowest, len(heading) + 1) if len(_wrapped(heading, w)) <= _HEADING_LINES)
    return next(fitting, narrowest)


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False)


def _longest_word(texts: Iterable[str]) -> int:
    return max((cell_len(word) for text in texts for word in text.split()), default=0)


def _total(widths: Iterable[int]) -> int:
    listed = list(widths)
    return sum(listed) + GAP * (len(listed) - 1)
