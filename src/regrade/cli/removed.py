"""regrade removed: list, restore and purge removed records; and what the remove commands share."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.options import JsonOption, WorkspaceOption, opened
from regrade.cli.output import one_line, report_import, say
from regrade.core.amounts import amount, file_size
from regrade.core.errors import InputError

if TYPE_CHECKING:
    from regrade.store import Removal, RemovalPlan, StoredRecord
    from regrade.workspace.renaming import Renamed

app = typer.Typer(no_args_is_help=True)
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
_SHOWN = 20  # records of a long list


@app.command("list")
@shown
def list_(workspace: WorkspaceOption = Path()) -> CommandResult:
    """List what was removed and can be restored: models, test sets and label sets."""
    from regrade.core import Column, Table

    keys = ("number", "removed", "what", "records", "files", "bytes")
    removals = opened(workspace).removed.list()
    rows = tuple((row.number, row.removed, row.what, len(row.records), row.files, row.bytes) for row in removals)
    notes = ("regrade removed restore NUMBER puts one back, regrade removed purge deletes all for good",) * bool(rows)
    table = Table("removed", tuple(Column(key, key) for key in keys), rows, notes)
    return CommandResult(table, {"removed": [{**_as_dict(removal), "at": removal.removed} for removal in removals]})


@app.command()
def restore(
    number: Annotated[
        int | None, typer.Argument(help="Number of the removal in regrade removed list (default: the last one).")
    ] = None,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Put removed records back to their places.

    Nothing is replaced: a removal whose place is taken, or whose test set is missing or another version, is an error.
    """
    removal = opened(workspace).removed.restore(number)
    report_import([f"restored {removal.what}: {_size(removal)}"], (), _as_dict(removal), as_json=as_json)


@app.command()
def purge(yes: YesOption = False, as_json: JsonOption = False, workspace: WorkspaceOption = Path()) -> None:
    """Delete all removed records for good."""
    ws = opened(workspace)
    for removal in ws.removed.list():
        say(one_line(f"{removal.number}: {removal.what}: {_size(removal)}"))
    if not ws.removed.list():
        say("nothing to purge")
    else:
        confirm("Delete for good?", yes=yes)
    removals = ws.removed.purge()
    size = file_size(sum(removal.bytes for removal in removals))
    lines = [f"purged {amount(len(removals), 'removal')}, {size}"] if removals else []
    report_import(lines, (), {"purged": [_as_dict(removal) for removal in removals]}, as_json=as_json)


def confirm_removal(plan: RemovalPlan, *, yes: bool) -> None:
    """Print what a plan removes, and ask unless ``yes``; exit if the answer is no."""
    lines = [f"{plan.what}: {amount(len(plan.records), 'record')}, {_size(plan)}"]
    lines += [f"  {record.place}: {_size(record)}" for record in plan.records[:_SHOWN]]
    if len(plan.records) > _SHOWN:
        lines.append(f"  and {len(plan.records) - _SHOWN:,} more")
    for line in (*lines, *(f"note: {note}" for note in plan.notes)):
        say(one_line(line))
    confirm("Remove?", yes=yes)


def confirm(question: str, *, yes: bool) -> None:
    """Ask a question on a terminal unless ``yes``; exit with 1 if the answer is no."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError(f"the question {question!r} cannot be answered without a terminal: give --yes")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        say("nothing was changed")
        raise typer.Exit(1)


def report_removal(removal: Removal, plan: RemovalPlan, *, as_json: bool) -> None:
    """Print what was removed, and the command that restores it."""
    line = f"removed {removal.what}: {_size(removal)}; undo with regrade removed restore {removal.number}"
    if as_json:
        report_import([line], (), {**_as_dict(removal), "dependents": list(plan.notes)}, as_json=True)
    else:
        say(one_line(line))


def report_renaming(done: Renamed, line: str, *, as_json: bool) -> None:
    """Print what was renamed."""
    report_import(
        [line], done.notes, {"old": done.old, "new": done.new, "test_sets": [*done.test_sets]}, as_json=as_json
    )


def _size(counted: RemovalPlan | Removal | StoredRecord) -> str:
    return f"{amount(counted.files, 'file')}, {file_size(counted.bytes)}"


def _as_dict(removal: Removal) -> dict[str, Any]:
    records = [{"place": row.place, "files": row.files, "bytes": row.bytes} for row in removal.records]
    return {
        "number": removal.number,
        "what": removal.what,
        "command": removal.command,
        "files": removal.files,
        "bytes": removal.bytes,
        "records": records,
    }
