"""Lists that skip damaged entries, report them as errors and exit with 1."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from regrade.cli.command_result import CommandResult
from regrade.core.errors import RegradeError

if TYPE_CHECKING:
    from regrade.core import Table


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
