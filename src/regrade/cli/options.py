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
LabelsOption = Annotated[
    str | None,
    typer.Option("--labels", "-l", help="Also score against this label set: NAME (newest version) or NAME@VERSION."),
]
CollapsedOption = Annotated[
    bool,
    typer.Option(
        "--collapsed", help="Also accept classes that people cannot distinguish from the label (imagenet-1k)."
    ),
]
WithinOption = Annotated[
    str | None,
    typer.Option(help="Restrict predictions to the classes of this class space, e.g. imagenet-a (200-way accuracy)."),
]
MapOption = Annotated[
    Path | None,
    typer.Option(
        "--map", help="CSV or JSON map from label classes to predicted classes (default: the test set's own map)."
    ),
]
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


class Rule(StrEnum):
    """How multi-label accuracy is computed."""

    images = "images"
    classes = "classes"


class ClassNumbers(StrEnum):
    """How integers in a file are read."""

    auto = "auto"
    ids = "ids"
    indices = "indices"


RuleOption = Annotated[
    Rule | None,
    typer.Option(
        help="images: correct labels count, mean over images (default). classes: also unclear, mean over classes."
    ),
]
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
