"""Tables of a report's page: the first rows as HTML, and all rows compressed for sorting and filtering."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from regrade.core import Cell, Estimate, Table


def packed_text(text: str) -> str:
    """A text, compressed and encoded in base64."""
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=9, mtime=0)).decode()


def packed(data: Any) -> str:
    """Data as JSON, compressed and encoded in base64."""
    return packed_text(json.dumps(data, separators=(",", ":"), allow_nan=False, ensure_ascii=False))


def script_hash(script: str) -> str:
    """The source expression of a script in a Content-Security-Policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


FIRST_ROWS = 20
"""The number of rows that a table shows first."""

MOST_ROWS = 3_000
"""The most rows of a table in the page and in Markdown and LaTeX files; the CSV file has all."""

_FEW = 5  # tables with so few rows have no filter
_LONG = 48  # texts with more letters are wrapped
_SPARE = 5  # up to so many extra rows are shown at once


def table_html(table: Table, *, anchor: str, names: Collection[str], level: int = 3) -> str:
    """A table with its controls, below a heading of the given level.

    ``names`` are the names that a reader can select, ``anchor`` is the file name of the table.
    """
    count, numeric = len(table.rows), table.numeric()
    table = replace(table, rows=table.rows[:MOST_ROWS])
    texts = table.texts()
    first = texts if count <= FIRST_ROWS + _SPARE else texts[:FIRST_ROWS]
    caption, file = html.escape(table.title), html.escape(f"tables/{anchor}.csv")
    heading = "".join(
        f'<th scope="col"{_right(right)} aria-sort="none"><button type="button">'
        f"{html.escape(column.heading or column.key)}</button></th>"
        for column, right in zip(table.columns, numeric, strict=True)
    )
    body = "".join(_row(row, numeric, names) for row in first)
    shortened = f'<p class="cut">The first {len(first)} of {count:,} rows; all of them are in {file}.</p>'
    few = " hidden" if count <= _FEW else ""
    data = {"texts": texts, "keys": _keys(table), "numeric": numeric, "first": len(first), "all": count}
    return (
        f'<div class="table" id="table-{anchor}">\n<h{level}>{caption}</h{level}>\n<div class="tools"{few}>'
        '<label>Filter<input type="search" autocomplete="off" spellcheck="false"></label>'
        f"<output>{_rows(count)}</output></div>\n"
        f'<div class="frame"><div class="scroll" role="region" tabindex="0" aria-label="{caption}"><table>'
        f'<caption class="hidden">{caption}</caption>'
        f"<thead><tr>{heading}</tr></thead><tbody>{body}</tbody></table></div></div>\n"
        '<p class="sideways" hidden>Scroll the table sideways for more columns.</p>\n'
        f"{shortened if count > len(first) else ''}"
        f'<p class="more"><button type="button" class="all"{"" if count > len(first) else " hidden"}>Show all '
        f"{len(texts):,} rows</button>{_files(anchor, count)}</p>\n"
        f'<script type="text/plain" class="data">{packed(data)}</script>\n</div>\n'
    )


def _row(texts: list[str], numeric: tuple[bool, ...], names: Collection[str]) -> str:
    cells = "".join(
        f"<td{_kind(text, right)}>{_cell(text, names)}</td>" for text, right in zip(texts, numeric, strict=True)
    )
    return f"<tr>{cells}</tr>"


def _cell(text: str, names: Collection[str]) -> str:
    """A cell: names are buttons, and intervals of estimates are dimmed."""
    if text in names:
        return f'<button type="button" class="name">{html.escape(text)}</button>'
    value, bracket, interval = text.partition(" [")
    if bracket and interval.endswith("]"):
        return f'{html.escape(value)} <span class="interval">[{html.escape(interval)}</span>'
    return html.escape(text)


def _kind(text: str, right: bool) -> str:
    return ' class="long"' if len(text) > _LONG else _right(right)


def _right(right: bool) -> str:
    return ' class="number"' if right else ""


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"


def table_endings(count: int) -> dict[str, str]:
    """The formats in which a table with ``count`` rows is written, by file suffix."""
    return {"csv": "CSV", "md": "Markdown", "tex": "LaTeX"} if count <= MOST_ROWS else {"csv": "CSV"}


def _files(anchor: str, count: int) -> str:
    links = ", ".join(f'<a href="tables/{anchor}.{end}">{name}</a>' for end, name in table_endings(count).items())
    return f'<span class="files">Table as {links}</span>'


def _keys(table: Table) -> list[list[float | None] | None]:
    """The sort keys of each column: numbers, or None for columns sorted by text."""
    return [[_number(row[j]) for row in table.rows] if numeric else None for j, numeric in enumerate(table.numeric())]


def _number(cell: Cell) -> float | None:
    value = cell.value if isinstance(cell, Estimate) else cell
    return float(f"{value:.9g}") if isinstance(value, int | float) else None
