"""Options that are shared by several commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regrade.cli import exiting_at_once
from regrade.cli.completion import complete_test_sets

if TYPE_CHECKING:
    from regrade.store import Store
    from regrade.workspace import Workspace
    from regrade.workspace.labels import Labels
    from regrade.workspace.models import Models

WorkspaceOption = Annotated[
    Path, typer.Option("--workspace", "-w", envvar="REGRADE_WORKSPACE", help="Folder of the workspace.")
]
TestSetOption = Annotated[
    str, typer.Option("--test-set", "-t", help="Name of the test set.", autocompletion=complete_test_sets)
]
JsonOption = Annotated[bool, typer.Option("--json", help="Also print the result and the notes as JSON.")]


def opened(workspace: Path) -> Workspace:
    """Open the workspace of a command."""
    with exiting_at_once():
        from regrade.workspace import open as open_workspace

    return open_workspace(workspace)


def opened_store(workspace: Path) -> Store:
    """Open the stored data of a workspace for a command that needs no more; starts sooner than `opened`."""
    with exiting_at_once():
        from regrade.store import Store

    return Store.open(workspace)


def opened_models(workspace: Path) -> Models:
    """Open the models of a workspace; starts sooner than `opened`."""
    with exiting_at_once():
        from regrade.workspace.models import Models

    return Models(opened_store(workspace))


def opened_labels(workspace: Path) -> Labels:
    """Open the label sets of a workspace; starts sooner than `opened`."""
    with exiting_at_once():
        from regrade.workspace.labels import Labels

    return Labels(opened_store(workspace), lambda: opened(workspace).review.readable_ledger)
