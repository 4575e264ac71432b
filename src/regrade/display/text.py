"""Tables as text: CSV with one number per column, and plain text, Markdown and LaTeX for people."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

from rich.cells import cell_len

from regrade.core import Cell, Table

_PART = 4096  # rows of CSV written at a time
_APART = "   "
_MARKS = re.compile(  # those that format or link: not "_" within a word, or "&" before a space
    r"[\\`*{}\[\]<>#!|~$]|(?<![^\W_])_|_(?![^\W_])|&(?=[#\w])|:(?=/)|(?<=[a-zA-Z])\.(?=[a-zA-Z])"
)
_MENTION = re.compile(r"(?<!\w)@|@(?!\d+(?![\w.-]))")  # but not the version of labels: real@1
_LATEX = str.maketrans({
    "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "–": "--",
})  # fmt: skip


def to_csv(table: Table) -> str:
    """Comma-separated values; an estimate has columns for its value, bounds and count, as fractions."""
    return "".join(csv_parts(table))


def csv_parts(table: Table) -> Iterator[str]:
    """As `to_csv`, in parts of some rows."""
    records = table.iter_records()
    first = next(records, None)
    yield _csv_lines([[column.key for column in table.columns] if first is None else list(first)])
    rest = chain(() if first is None else (first,), records)
    while part := [list(record.values()) for record in islice(rest, _PART)]:
        yield _csv_lines(part)


def _csv_lines(rows: list[list[Any]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue()


def to_text(table: Table) -> str:
    """Plain text with aligned columns of any width, the title above and the notes below."""
    headings = [column.heading for column in table.columns]
    if table.is_list:
        body = _aligned([list(pair) for pair in zip(headings, table.texts()[0], strict=True)], [False, False])
    else:
        body = _aligned([headings, *table.texts()], table.numeric())
        body.insert(1, "─" * max(map(cell_len, body)))
    return "\n".join([table.title, "", *body, "", *table.notes]) + "\n"


def to_markdown(table: Table) -> str:
    """A Markdown table with its title above and its notes below; names in it cannot format, link or mention."""
    heading = [escaped_markdown(column.heading) for column in table.columns]
    marks = ["---:" if right else "---" for right in table.numeric()]
    rows = (map(_markdown_cell, cells, texts) for cells, texts in zip(table.rows, table.texts(), strict=True))
    body = "\n".join(f"| {' | '.join(line)} |" for line in (heading, marks, *rows))
    notes = "".join(f"\n{escaped_markdown(note)}  " for note in table.notes)
    return f"**{escaped_markdown(table.title)}**\n\n{body}\n{notes}\n"


def _markdown_cell(cell: Cell, text: str) -> str:
    """The text of a cell; numbers and their intervals need no escaping."""
    return escaped_markdown(text) if isinstance(cell, str) else text


def code_span(text: str) -> str:
    r"""A text as inline code of Markdown: it cannot format, link or mention.

    >>> code_span("a*b"), code_span("a`b")
    ('`a*b`', '`` a`b ``')
    """
    shown = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence, room = "`" * (longest + 1), " " if "`" in shown or shown != shown.strip() or not shown else ""
    return f"{fence}{room}{shown}{room}{fence}"


def escaped_markdown(text: str) -> str:
    r"""A text within a line of Markdown in which nothing is formatted, linked or mentioned.

    >>> print(escaped_markdown("*a* of 1.5 in [b]"))
    \*a\* of 1.5 in \[b\]
    """
    shown = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
    return _MENTION.sub("@\u200b", _MARKS.sub(r"\\\g<0>", shown))


def to_latex(table: Table) -> str:
    """A LaTeX table for the booktabs package."""
    layout = "".join("r" if right else "l" for right in table.numeric())
    heading = " & ".join(_escaped(column.heading) for column in table.columns)
    body = "\n".join(f"    {' & '.join(_escaped(text) for text in row)} \\\\" for row in table.texts())
    caption = _escaped(". ".join((table.title, *table.notes)))
    return (
        "\\begin{table}\n  \\centering\n"
        f"  \\caption{{{caption}}}\n"
        f"  \\begin{{tabular}}{{{layout}}}\n    \\toprule\n    {heading} \\\\\n    \\midrule\n"
        f"{body}\n    \\bottomrule\n  \\end{{tabular}}\n\\end{{table}}\n"
    )


def _aligned(lines: list[list[str]], right: Sequence[bool]) -> list[str]:
    """Cells in columns as wide as their widest."""
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    return [_APART.join(map(_padded, line, widths, right)).rstrip() for line in lines]


def _padded(text: str, width: int, right: bool) -> str:
    room = " " * (width - cell_len(text))
    return room + text if right else text + room


def _escaped(text: str) -> str:
    return text.translate(_LATEX)
