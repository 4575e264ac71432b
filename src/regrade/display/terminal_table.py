"""Tables formatted for a terminal: values bold, intervals dim, notes below; no word is broken."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from regrade.core import Table
from regrade.display.column_layout import GAP, ColumnLayout, ShownColumn, column_layout, whole_columns
from regrade.display.wrapping import wrapped_lines


def draw_table(table: Table, console: Console, *, wide: bool = False) -> None:
    """Print a table on a terminal: the columns that fit it, or all if ``wide``; a single row may become a list."""
    _print_lines(console, _prose(table.title, console.width, "bold"))
    console.print()
    layout = whole_columns(table) if wide else column_layout(table, console.width)
    if table.is_list or (layout.hidden and len(table.rows) == 1):
        _print_lines(console, _list_lines(table, console.width))
        layout = ColumnLayout(())
    else:
        _print_lines(console, _table_lines(layout.columns))
    console.print()
    for note in (*_hidden_note(layout), *table.notes):
        _print_lines(console, _prose(note, console.width, "dim"))


def _hidden_note(layout: ColumnLayout) -> tuple[str, ...]:
    count = len(layout.hidden)
    return (f"{count} more column{'s' * (count > 1)} with --wide: {'; '.join(layout.hidden)}",) if count else ()


def _prose(text: str, width: int, style: str) -> list[Text]:
    return [Text(line, style=style) for line in wrapped_lines(text, width)]


def _print_lines(console: Console, lines: list[Text]) -> None:
    for line in lines:
        console.print(line, no_wrap=True, overflow="ignore", crop=False)


def _table_lines(columns: tuple[ShownColumn, ...]) -> list[Text]:
    headings = [wrapped_lines(column.heading, column.width) for column in columns]
    height = max(map(len, headings), default=0)
    lines = _side_by_side([[""] * (height - len(lines)) + lines for lines in headings], columns)
    rule = "─" * (sum(column.width for column in columns) + GAP * (len(columns) - 1))
    lines.append(Text(rule, style="dim"))
    for cells in zip(*(column.texts for column in columns), strict=True):
        wrapped = [wrapped_lines(cell, column.width) for cell, column in zip(cells, columns, strict=True)]
        lines += _side_by_side(wrapped, columns)
    return lines


def _side_by_side(cells: list[list[str]], columns: tuple[ShownColumn, ...]) -> list[Text]:
    """The lines of a row, from the lines of its cells."""
    height = max(map(len, cells), default=0)
    rows = zip(*(lines + [""] * (height - len(lines)) for lines in cells), strict=True)
    gap, texts = Text(" " * GAP), []
    for row in rows:
        line = gap.join(_padded(text, column) for text, column in zip(row, columns, strict=True))
        line.rstrip()
        texts.append(line)
    return texts


def _padded(text: str, column: ShownColumn) -> Text:
    styled = _styled(text)
    room = max(column.width - styled.cell_len, 0)
    (styled.pad_left if column.is_number else styled.pad_right)(room)
    return styled


def _list_lines(table: Table, width: int) -> list[Text]:
    """A single row with many columns, one line per column."""
    widest = max(len(column.heading) for column in table.columns)
    lines = []
    for column, text in zip(table.columns, table.texts()[0], strict=True):
        first, *further = wrapped_lines(text, max(width - widest - GAP, 20))
        lines.append(Text.assemble((column.heading.ljust(widest + GAP), "dim"), _styled(first)))
        lines += [Text(" " * (widest + GAP) + part) for part in further]
        lines[-1].rstrip()
    return lines


def _styled(text: str) -> Text:
    value, bracket, interval = text.partition(" [")
    if bracket and interval.endswith("]"):
        return Text.assemble((value, "bold"), (bracket + interval, "dim"))
    return Text(text)
