"""Commands that return a result and leave it to this decorator how it is printed."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from regrade.cli.output import Form, chosen_form, one_line, say, show

if TYPE_CHECKING:
    from regrade.core import Table

_FLAGS = {
    "as_json": Annotated[bool, typer.Option("--json", help="Print JSON, values as fractions.")],
    "csv": Annotated[bool, typer.Option("--csv", help="Print CSV, values as fractions.")],
    "markdown": Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")],
    "latex": Annotated[bool, typer.Option("--latex", help="Print a LaTeX table (booktabs).")],
}


@dataclass(frozen=True)
class Shown:
    """What a command found: a table, the same as data for JSON, the exit code, and the ``errors`` it stands for.

    On a terminal a table of more than ``head`` lines is cut short, and says so; elsewhere it is whole. Of a table that
    may have millions of rows only CSV has more than ``most``.
    """

    table: Table
    data: dict[str, Any]
    head: int | None = None
    most: int | None = None
    exit_code: int = 0
    errors: tuple[str, ...] = ()


def shown(command: Callable[..., Shown]) -> Callable[..., None]:
    """Give a command the options --json, --csv, --markdown and --latex, and print what it returns."""

    @wraps(command)
    def run(**arguments: Any) -> None:
        form = chosen_form(**{flag: arguments.pop(flag) for flag in _FLAGS})
        found = command(**arguments)
        seen = form is Form.TERMINAL and sys.stdout.isatty()
        limit = found.head if seen and found.head else None if form is Form.CSV else found.most
        show(_cut(found.table, limit) if limit else found.table, found.data, form)
        for error in found.errors:
            say(f"error: {one_line(error)}")
        if found.exit_code:
            raise typer.Exit(found.exit_code)

    hints = {**get_type_hints(command, include_extras=True), **_FLAGS}
    del hints["return"]
    kind = inspect.Parameter.KEYWORD_ONLY
    own = inspect.signature(command).parameters
    defaults = {**{name: parameter.default for name, parameter in own.items()}, **dict.fromkeys(_FLAGS, False)}
    parameters = [
        inspect.Parameter(name, kind, default=default, annotation=hints[name]) for name, default in defaults.items()
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = hints
    return run


def _cut(table: Table, head: int) -> Table:
    if len(table.rows) <= head:
        return table
    note = f"the first {head:,} of {len(table.rows):,}; all of them with --csv or --json, or in a file"
    return replace(table, rows=table.rows[:head], notes=(*table.notes, note))
