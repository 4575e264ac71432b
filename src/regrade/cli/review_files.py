"""regrade review export and import: all that people said, as one file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.options import JsonOption, WorkspaceOption, opened
from regrade.cli.output import report_import, say
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
    say(f"{file}: {_rows_in_words(opened(workspace).export_ledger(file))}")


def import_(
    file: Annotated[Path, typer.Argument(help="What `regrade review export` wrote.")],
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Add what an exported ledger holds to this one, all of it or nothing; what is here already is passed over."""
    done = opened(workspace).import_ledger(file)
    line = f"{file}: {_rows_in_words(done.rows)}; {amount(done.new_votes, 'new vote')}"
    report_import([line], (), {"rows": dict(done.rows), "new_votes": done.new_votes}, as_json=as_json)


def _rows_in_words(counts: Mapping[str, int]) -> str:
    return ", ".join(amount(number, *_NOUNS[kind]) for kind, number in counts.items()) or "an empty ledger"
