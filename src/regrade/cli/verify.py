"""regrade verify: is everything in a workspace as it was written?"""

from __future__ import annotations

from pathlib import Path

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.options import WorkspaceOption, opened
from regrade.cli.output import watching
from regrade.core.amounts import amount


@shown
def verify(workspace: WorkspaceOption = Path()) -> CommandResult:
    """Check every stored file against its checksum, the ledger and its hash chain, and that images can be found.

    Exits with 1 if anything is damaged or missing. Damaged files are never used by other commands either: those check
    what they read.
    """
    result = opened(workspace).verify(progress=watching)
    if not result.problems:
        return CommandResult(result.table(), result.as_dict())
    error = f"{amount(len(result.problems), 'problem')} in {workspace}: the notes of the table name them"
    return CommandResult(result.table(), result.as_dict(), exit_code=1, errors=(error,))
