"""Options that are shared by several commands."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from regrade.tables import Columns
    from regrade.workspace import Workspace

WorkspaceOption = Annotated[
    Path, typer.Option("--workspace", "-w", envvar="REGRADE_WORKSPACE", help="Folder of the workspace.")
]
TestSetOption = Annotated[str, typer.Option("--test-set", "-t", help="Name of the test set.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Also print the result and the notes as JSON.")]
IdColumn = Annotated[str, typer.Option(help="Column of the example ids (default: recognized by its name).")]
LabelColumn = Annotated[str, typer.Option(help="Column of the labels (default: recognized by its name).")]
GroupColumns = Annotated[
    list[str],
    typer.Option(
        "--group",
        help="Column of groups, such as region or income; for image folders, a level of folders above the class "
        "folders, outermost first. May be repeated.",
    ),
]


class ClassNumbers(StrEnum):
    """How integers in a file are read."""

    auto = "auto"
    ids = "ids"
    indices = "indices"


NumbersOption = Annotated[
    ClassNumbers, typer.Option(help="Read integers as class ids or as class indices, where both are possible.")
]


def opened(workspace: Path) -> Workspace:
    """Open the workspace of a command."""
    from regrade.workspace import open as open_workspace

    return open_workspace(workspace)


def columns(id_column: str, label_column: str, groups: list[str], numbers: ClassNumbers) -> Columns:
    """The columns that are named by the options of a command."""
    from regrade.tables import Columns, Reading

    return Columns(id_column, label_column, tuple(groups), Reading(numbers.value))
