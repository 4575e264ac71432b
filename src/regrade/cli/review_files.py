"""regrade review export, import, backup and verify: all that people said, taken along, copied and checked."""

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


def backup(
    file: Annotated[Path, typer.Argument(help="The file to write.")],
    workspace: WorkspaceOption = Path(),
) -> None:
    """Copy a ledger in SQLite, accounts included, as it is at one moment; people can go on voting meanwhile.

    Put the copy in the place of a ledger that was lost. A ledger in PostgreSQL is backed up with pg_dump.
    """
    opened(workspace).back_up_ledger(file)
    say(f"{file}: a copy of the ledger, readable by you only")


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
