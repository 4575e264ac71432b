"""The command `regrade`: its subcommands, and how errors are printed."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from itertools import pairwise

import typer

from regrade.cli import (
    demo,
    import_,
    labels,
    models,
    predict,
    replicate,
    report,
    review,
    serve,
    study,
    team,
    testsets,
    workspace,
)
from regrade.cli.output import one_line
from regrade.core.errors import InputError, RegradeError

_MAY_BE_EMPTY = ("--prefix", "--keep")  # options for which an empty value has a meaning

app = typer.Typer(
    name="regrade",
    cls=study.LazyGroup,
    help="A second, honest grading of image classifiers: every number with its uncertainty.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode="rich",
)
app.command("demo")(demo.demo)
app.command("init")(workspace.init)
app.add_typer(testsets.app, name="testsets")
app.add_typer(models.app, name="models")
app.add_typer(labels.app, name="labels")
app.add_typer(import_.app, name="import")
app.command("predict")(predict.predict)
app.command("grade")(study.placeholder("grade"))
app.command("compare")(study.placeholder("compare"))
app.add_typer(study.plan_app, name="plan")
app.add_typer(study.app, name="study")
app.command("neighbors")(study.placeholder("neighbors"))
app.command("report")(report.report)
app.add_typer(review.app, name="review")
app.command("serve")(serve.serve)
app.add_typer(team.app, name="team")
app.command("replicate")(replicate.replicate)
app.command("verify")(workspace.verify)
app.command("upgrade")(workspace.upgrade)


@app.callback(invoke_without_command=True)
def _version(
    version: bool = typer.Option(False, "--version", help="Print the version and exit.", is_eager=True),
) -> None:
    if version:
        from regrade import __version__

        typer.echo(f"regrade {__version__}")
        raise typer.Exit


@cache
def _commands() -> Callable[[], object]:
    """All commands as one callable; built once, because building takes longer than many commands run."""
    return typer.main.get_command(app)


def main() -> None:
    """Run a command; an expected error prints one line to standard error and exits with 1."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # characters that the terminal cannot encode are escaped
    try:
        try:
            _refuse_empty(sys.argv[1:])
            _commands()()
        finally:
            if sys.stdout is not None:  # it is None if the caller has closed it
                sys.stdout.flush()
    except RegradeError as error:
        sys.stderr.write(f"error: {one_line(str(error))}\n")
        sys.exit(1)
    except BrokenPipeError:  # the reader of the pipe, such as head, has exited
        _drop_output()
        sys.exit(0)
    except OSError as error:
        _drop_output()
        sys.stderr.write(f"error: {error.filename or 'the output'}: {error.strerror or error}\n")
        sys.exit(1)


def _refuse_empty(arguments: Sequence[str]) -> None:
    """Raise if the value of an option or argument is empty, as with an unset shell variable."""
    for before, argument in pairwise(("regrade", *arguments)):
        option, is_assigned, value = argument.partition("=") if argument.startswith("--") else (before, "=", argument)
        if is_assigned and not value and option not in _MAY_BE_EMPTY:
            raise InputError(f"the value after {option} is empty: give a value, or omit the option")


def _drop_output() -> None:
    """Discard further standard output; otherwise flushing it at exit would fail again."""
    with suppress(OSError):  # standard output may not be a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
