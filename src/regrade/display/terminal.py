"""Printing tables: formatted on a terminal, else as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regrade.core import Table
from regrade.display.text import to_text

if TYPE_CHECKING:
    from rich.console import Console


def print_table(table: Table, console: Console | None = None, *, wide: bool = False) -> None:
    """Print a table for people: values bold, intervals dim, notes below.

    A terminal shows the columns that fit it, or all if ``wide``. A file or a pipe gets all, in lines as long as needed.
    """
    from rich.console import Console  # slow to import, and not needed for JSON

    from regrade.display.terminal_table import draw_table

    console = console or Console()
    if console.is_terminal:
        draw_table(table, console, wide=wide)
    else:
        console.file.write(to_text(table))
