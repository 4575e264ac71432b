"""regrade review export and import: all that people said, as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.options import WorkspaceOption, opened
from regrade.cli.output import say
from regrade.core.amounts import amount

_NOUNS = {
    "person": ("person", "people"), "queue": ("queue", ""), "assignment": ("assignment", ""), "item": ("item", ""),
    "vote": ("vote", ""), "comment": ("comment", ""), "decision": ("decision", ""),
    "guide": ("edit of the guide", "edits of the guide"),
}  # fmt: skip


def export(
    file: Annotated[Path, typer.Argument(help="The file to write: .csv, .json or .parquet.")],
    workspace: WorkspaceOption = Path(),
) -> None:
    """Write the whole ledger to a file: people, queues, votes, comments, decisions and the guide, with author and time.

    Passwords, invitations and other secrets stay where they are.
    """
    counts = opened(workspace).export_ledger(file)
    told = ", ".join(amount(number, *_NOUNS[kind]) for kind, number in counts.items())
    say(f"{file}: {told or 'an empty ledger'}")


def import_(
    file: Annotated[Path, typer.Argument(help="What `regrade review export` wrote.")],
    workspace: WorkspaceOption = Path(),
) -> None:
    """Add what an exported ledger holds to this one, all of it or nothing; what is here already is passed over."""
    say(f"{file}: {amount(opened(workspace).import_ledger(file), 'new vote')}")
