"""Results of commands: a decorator adds the output options and prints the result; lists skip damaged entries."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from regrade.cli.output import Form, chosen_form, one_line, say, show
from regrade.core.errors import RegradeError

if TYPE_CHECKING:
    from regrade.core import Table

_FLAGS = {
    "wide": Annotated[bool, typer.Option("--wide", help="Print all columns, also those that do not fit the terminal.")],
    "as_json": Annotated[bool, typer.Option("--json", help="Print JSON; values are fractions.")],
    "csv": Annotated[bool, typer.Option("--csv", help="Print CSV; values are fractions.")],
    "markdown": Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")],
    "latex": Annotated[bool, typer.Option("--latex", help="Print a LaTeX table (booktabs).")],
}


@dataclass(frozen=True)
class CommandResult:
    """The result of a command: a table, the same content as data for JSON, the exit code and its ``errors``.

    A terminal shows at most ``head`` rows of the table, with a note. ``most`` limits the rows in every form but CSV,
    for tables that may have millions of rows.
    """

    table: Table
    data: dict[str, Any]
    head: int | None = None
    most: int | None = None
    exit_code: int = 0
    errors: tuple[str, ...] = ()


@dataclass
class ListErrors:
    """The reasons why entries of a list could not be read, without repeats."""

    reasons: dict[str, None] = field(default_factory=dict)

    @contextmanager
    def skip_unreadable(self) -> Iterator[None]:
        """Skip an entry that cannot be read, and record the reason."""
        try:
            yield
        except RegradeError as error:
            self.reasons[str(error)] = None

    def result_with(self, table: Table, data: dict[str, Any]) -> CommandResult:
        """The result of a list command: the readable entries, and the recorded reasons as errors."""
        errors = tuple(self.reasons)
        return CommandResult(table, {**data, "errors": list(errors)}, exit_code=1 if errors else 0, errors=errors)


def shown(command: Callable[..., CommandResult]) -> Callable[..., None]:
    """Add the options --wide, --json, --csv, --markdown and --latex to a command, and print its result."""

    @wraps(command)
    def run(**arguments: Any) -> None:
        form = chosen_form(**{flag: arguments.pop(flag) for flag in _FLAGS})
        result = command(**arguments)
        on_terminal = form in (Form.TERMINAL, Form.WIDE) and sys.stdout.isatty()
        limit = result.head if on_terminal and result.head else None if form is Form.CSV else result.most
        show(_first_rows(result.table, limit) if limit else result.table, result.data, form)
        for error in result.errors:
            say(f"error: {one_line(error)}")
        if result.exit_code:
            raise typer.Exit(result.exit_code)

    _add_flags(run, command)
    return run


def _add_flags(run: Callable[..., Any], command: Callable[..., Any]) -> None:
    """Give ``run`` the parameters of ``command`` and the output options."""
    hints = get_type_hints(command, include_extras=True)
    own = inspect.signature(command).parameters.items()
    options = {name: (hints[name], parameter.default) for name, parameter in own}
    options |= {name: (annotation, False) for name, annotation in _FLAGS.items()}
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for name, (annotation, default) in options.items()
        ]
    )
    run.__annotations__ = {name: annotation for name, (annotation, _) in options.items()}


def _first_rows(table: Table, limit: int) -> Table:
    if len(table.rows) <= limit:
        return table
    note = f"the first {limit:,} of {len(table.rows):,} rows; use --csv or --json, or write to a file, for all of them"
    return replace(table, rows=table.rows[:limit], notes=(*table.notes, note))
