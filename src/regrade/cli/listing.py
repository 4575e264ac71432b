"""Lists that go on past what is damaged, name it, and fail."""

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
    """Why entries of a list could not be read, each reason once."""

    reasons: dict[str, None] = field(default_factory=dict)

    @contextmanager
    def left_out(self) -> Iterator[None]:
        """Leave an entry out that cannot be read, and go on."""
        try:
            yield
        except RegradeError as error:
            self.reasons[str(error)] = None

    def shown_with(self, table: Table, data: dict[str, Any]) -> CommandResult:
        """The entries that could be read; the reasons of the rest are errors."""
        errors = tuple(self.reasons)
        return CommandResult(table, {**data, "errors": list(errors)}, exit_code=1 if errors else 0, errors=errors)
