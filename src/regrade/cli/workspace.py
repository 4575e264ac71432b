"""regrade demo, init, verify and upgrade: create, check and convert a workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.options import WorkspaceOption, opened
from regrade.cli.output import say, watching
from regrade.cli.report import watching_chapters
from regrade.core.amounts import amount

_MOST = 5  # findings of the demo that are printed


def demo(
    workspace: Annotated[Path, typer.Option("--workspace", "-w", help="Folder for the workspace of the demo.")] = Path(
        "regrade-demo"
    ),
) -> None:
    """Train eight classifiers on handwritten digits, grade them on two test sets, and write a report.

    Takes a minute or two; a second run reuses the stored results.
    """
    from regrade.demo import run_demo

    written = run_demo(workspace, log=say, progress=watching_chapters)
    for number, key in enumerate(written.report.key_findings[:_MOST], start=1):
        typer.echo(f"{number}. {key.finding.headline}. {key.finding.text}")
    typer.echo(f"\nReport: {written.page}")
    say(f"workspace: {workspace}; next, try:")
    say(f"  regrade compare 'random forest' 'neural network' --test-set uci-digits -w {workspace}")
    say(f"  regrade study generalization --original mnist --new uci-digits -w {workspace}")
    say(f"  regrade serve -w {workspace}  # judge predictions in the browser")


def init(
    folder: Annotated[Path, typer.Argument(help="Folder of the workspace; created if it does not exist.")],
) -> None:
    """Create a workspace with a commented regrade.toml."""
    from regrade.store import Store

    Store.create(folder)
    say(f"created the workspace {folder}")
    say(f"next: regrade import predictions FILE --test-set NAME --classes SPACE -w {folder}")


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


def upgrade(workspace: WorkspaceOption = Path()) -> None:
    """Convert a workspace that was written by an older version of regrade; either all files are rewritten or none."""
    from regrade.store import upgrade_workspace

    say(f"{workspace}: {amount(upgrade_workspace(workspace), 'file')} rewritten")
