"""Commands whose exit code is a verdict: every error has an exit code of its own, wrong usage included."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperCommand

NO_VERDICT = 3
"""The exit code of a verdict command that ends with an error: 0, 1 and 2 are verdicts."""

VERDICT_COMMANDS = ("gate",)
"""The commands below `regrade` whose exit code is a verdict."""


def error_code(arguments: Sequence[str]) -> int:
    """The exit code of an error of the command with these arguments."""
    return NO_VERDICT if tuple(arguments[:1]) in {(name,) for name in VERDICT_COMMANDS} else 1


class VerdictCommand(TyperCommand):
    """A command whose exit codes 0, 1 and 2 are verdicts."""

    def make_context(self, *arguments: Any, **named: Any) -> Any:
        """Parse the arguments."""
        with _errors_without_verdict():
            return super().make_context(*arguments, **named)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with _errors_without_verdict():
            return super().invoke(ctx)


@contextmanager
def _errors_without_verdict() -> Iterator[None]:
    """Give wrong usage, and output that no one reads, the exit code of errors."""
    try:
        yield
    except (typer.Exit, typer.Abort):
        raise
    except BrokenPipeError as error:
        raise typer.Exit(NO_VERDICT) from error
    except Exception as error:
        if hasattr(error, "exit_code"):  # wrong usage, which would exit with 2
            error.exit_code = NO_VERDICT
        raise
