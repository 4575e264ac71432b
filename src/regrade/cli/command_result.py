"""Commands that return a result and leave it to this decorator how it is printed."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
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
class CommandResult:
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


def shown(command: Callable[..., CommandResult]) -> Callable[..., None]:
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

    add_options(run, command, {name: (annotation, False) for name, annotation in _FLAGS.items()})
    return run


def add_options(
    run: Callable[..., Any], command: Callable[..., Any], added: Mapping[str, tuple[Any, Any]], *, instead_of: str = ""
) -> None:
    """Give ``run`` the parameters of a command and the added ones, each an annotation and a default.

    The parameter ``instead_of`` of the command, if any, is left out: ``run`` passes it.
    """
    hints = get_type_hints(command, include_extras=True)
    own = inspect.signature(command).parameters.items()
    options = {name: (hints[name], parameter.default) for name, parameter in own if name != instead_of} | dict(added)
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for name, (annotation, default) in options.items()
        ]
    )
    run.__annotations__ = {name: annotation for name, (annotation, _) in options.items()}


def _cut(table: Table, head: int) -> Table:
    if len(table.rows) <= head:
        return table
    note = f"the first {head:,} of {len(table.rows):,}; all of them with --csv or --json, or in a file"
    return replace(table, rows=table.rows[:head], notes=(*table.notes, note))
