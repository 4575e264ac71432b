"""regrade verify: check the integrity of a workspace."""

from __future__ import annotations

from pathlib import Path

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.options import WorkspaceOption, opened
from regrade.cli.output import watching
from regrade.core.amounts import amount


@shown
def verify(workspace: WorkspaceOption = Path()) -> CommandResult:
    """Check every stored file against its checksum, the hash chain of the ledger, and that images exist.

    Exits with 1 if anything is damaged or missing. Other commands also verify the files that they read, and never use
    damaged ones.
    """
    result = opened(workspace).verify(progress=watching)
    if not result.problems:
        return CommandResult(result.table(), result.as_dict())
    error = f"{amount(len(result.problems), 'problem')} in {workspace}: see the notes of the table"
    return CommandResult(result.table(), result.as_dict(), exit_code=1, errors=(error,))
