"""The commands of `regrade review` about the ledger as a whole: as a file of rows, as a backup, and its check."""

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
    "report": ("report of an unreadable image", "reports of unreadable images"),
    "guide": ("edit of the guide", "edits of the guide"),
    "worker_event": ("event of a worker", "events of workers"), "proposal": ("proposal", ""),
}  # fmt: skip

_ENTRIES = "votes, comments, decisions and edits"


def export(
    file: Annotated[Path, typer.Argument(help="The file to write: .csv, .json or .parquet.")],
    workspace: WorkspaceOption = Path(),
) -> None:
    """Export the ledger to a file: people, queues, votes, comments, decisions and the guide, with authors and times.

    Passwords, invitations and other secrets are not exported.
    """
    say(f"{file}: {_rows_in_words(opened(workspace).review.export(file))}")


def import_(
    file: Annotated[Path, typer.Argument(help="The file that `regrade review export` wrote.")],
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Import an exported ledger into this one, completely or not at all; rows that exist already are skipped."""
    result = opened(workspace).review.import_file(file)
    line = f"{file}: {_rows_in_words(result.rows)}; {amount(result.new_votes, 'new vote')}"
    report_import([line], (), {"rows": dict(result.rows), "new_votes": result.new_votes}, as_json=as_json)


def backup(
    file: Annotated[Path, typer.Argument(help="The file to write.")],
    workspace: WorkspaceOption = Path(),
) -> None:
    """Back up a ledger in SQLite, including accounts, in a consistent state, while people go on voting.

    `regrade review restore` restores the backup. Use pg_dump for a ledger in PostgreSQL.
    """
    opened(workspace).review.back_up(file)
    say(f"{file}: backup of the ledger, readable by you only")


def restore(
    file: Annotated[Path, typer.Argument(help="The file that `regrade review backup` wrote.")],
    older: Annotated[
        bool, typer.Option("--older", help="Accept a backup without some of the votes that were already published.")
    ] = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Restore a ledger in SQLite from a backup; the existing ledger is kept under a new name.

    Stop `regrade serve` first. The backup is checked before anything is moved. Use pg_restore for a ledger in
    PostgreSQL.
    """
    result = opened(workspace).review.restore(file, older=older)
    entries = amount(result.links, "vote, comment, decision or edit", _ENTRIES)
    say(f"{result.path}: restored from {file}, with {entries}")
    if result.kept is not None:
        say(f"the previous ledger is kept as {result.kept}, with its -wal and -shm files if it had any")
    if result.is_older:
        say("the published files contain votes that this ledger does not have: publish its queues again")
    say("next steps: run `regrade verify`, and `regrade review list` to see which votes must be cast again")


def verify(workspace: WorkspaceOption = Path()) -> None:
    """Check the ledger: its database, the triggers that protect it, and the hash chain over votes and decisions."""
    from regrade.core import StoreError

    problems = opened(workspace).review.problems()
    if problems:
        raise StoreError(f"{amount(len(problems), 'problem')} in the ledger: {'; '.join(problems)}")
    say("the ledger is valid: no vote, comment, decision or guide entry was changed, removed or added outside of it")


def _rows_in_words(counts: Mapping[str, int]) -> str:
    return ", ".join(amount(count, *_NOUNS[kind]) for kind, count in counts.items()) or "an empty ledger"
