"""regrade upgrade: a workspace of an older layout, brought up to date."""

from __future__ import annotations

from pathlib import Path

from regrade.cli.options import WorkspaceOption
from regrade.cli.output import say
from regrade.core.amounts import amount


def upgrade(workspace: WorkspaceOption = Path()) -> None:
    """Rewrite the files of a workspace that an older regrade has written, all of them or none."""
    from regrade.store import upgrade_workspace

    say(f"{workspace}: {amount(upgrade_workspace(workspace), 'file')} rewritten")
