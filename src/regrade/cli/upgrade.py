"""regrade upgrade: convert a workspace of an older version to the current format."""

from __future__ import annotations

from pathlib import Path

from regrade.cli.options import WorkspaceOption
from regrade.cli.output import say
from regrade.core.amounts import amount


def upgrade(workspace: WorkspaceOption = Path()) -> None:
    """Convert a workspace that was written by an older version of regrade; either all files are rewritten or none."""
    from regrade.store import upgrade_workspace

    say(f"{workspace}: {amount(upgrade_workspace(workspace), 'file')} rewritten")
