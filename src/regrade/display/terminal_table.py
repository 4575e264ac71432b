"""Tables formatted for a terminal: values bold, intervals dim, notes below."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from regrade.core import Table
from regrade.display.text import is_list


def draw_table(table: Table, console: Console) -> None:
    """Print a table on a terminal; long cells are wrapped."""
    console.print(Text(table.title, style="bold"))
    console.print(_turned(table) if is_list(table) else _upright(table))
    for note in table.notes:
        console.print(Text(note, style="dim"))


def _upright(table: Table) -> RichTable:
    shown = _frame()
    for column, right in zip(table.columns, table.numeric(), strict=True):
        shown.add_column(column.heading, justify="right" if right else "left", overflow="fold")
    for row in table.texts():
        shown.add_row(*(_styled(text) for text in row))
    return shown


def _turned(table: Table) -> RichTable:
    """A single row with many columns, one line per column."""
    shown = _frame()
    shown.show_header = False
    shown.add_column()
    shown.add_column(overflow="fold")
    for column, text in zip(table.columns, table.texts()[0], strict=True):
        shown.add_row(Text(column.heading, style="dim"), _styled(text))
    return shown


def _frame() -> RichTable:
    return RichTable(box=box.SIMPLE_HEAD, pad_edge=False)


def _styled(text: str) -> Text:
    value, bracket, interval = text.partition(" [")
    if bracket and interval.endswith("]"):
        return Text.assemble((value, "bold"), (bracket + interval, "dim"))
    return Text(text)
