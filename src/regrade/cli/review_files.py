"""regrade review export, import, backup, restore and verify: all that people said, taken along, copied and checked."""

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

_ENTRIES = "votes, comments, decisions and edits"


def export(
    file: Annotated[Path, typer.Argument(help="The file to write: .csv, .json or .parquet.")],
    workspace: WorkspaceOption = Path(),
) -> None:
    """Write the whole ledger to a file: people, queues, votes, comments, decisions and the guide, with author and time.

    Passwords, invitations and other secrets stay where they are.
    """
    say(f"{file}: {_rows_in_words(opened(workspace).export_ledger(file))}")


def backup(
    file: Annotated[Path, typer.Argument(help="The file to write.")],
    workspace: WorkspaceOption = Path(),
) -> None:
    """Copy a ledger in SQLite, accounts included, as it is at one moment; people can go on voting meanwhile.

    `regrade review restore` puts the copy in the place of a ledger that was lost. A ledger in PostgreSQL is backed up
    with pg_dump.
    """
    opened(workspace).back_up_ledger(file)
    say(f"{file}: a copy of the ledger, readable by you only")


def restore(
    file: Annotated[Path, typer.Argument(help="What `regrade review backup` wrote.")],
    older: Annotated[
        bool, typer.Option("--older", help="Accept a backup that lacks votes which were published already.")
    ] = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Put a backup in the place of a ledger in SQLite; the ledger that is there is kept under a new name.

    Stop `regrade serve` first. The backup is checked before anything is moved. A ledger in PostgreSQL is restored with
    pg_restore.
    """
    done = opened(workspace).restore_ledger(file, older=older)
    say(f"{done.path}: restored from {file}, with {amount(done.links, 'vote, comment, decision or edit', _ENTRIES)}")
    if done.kept is not None:
        say(f"the ledger before it is kept as {done.kept}, with its -wal and -shm files if it had any")
    if done.is_older:
        say("what is published holds votes that this ledger does not have: publish its queues again")
    say("check next: `regrade verify`, and `regrade review list` for votes that must be given again")


def verify(workspace: WorkspaceOption = Path()) -> None:
    """Check the ledger: its database, what protects it from changes, and the hash chain over all that people said."""
    from regrade.core import StoreError

    problems = opened(workspace).ledger_problems()
    if problems:
        raise StoreError(f"{amount(len(problems), 'problem')} in the ledger: {'; '.join(problems)}")
    say("the ledger is whole: nothing that people said, nor what it is about, was changed, removed or added past it")


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
