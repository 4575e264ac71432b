"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from regrade.tables import Columns
    from regrade.workspace import Workspace

WorkspaceOption = Annotated[
    Path, typer.Option("--workspace", "-w", envvar="REGRADE_WORKSPACE", help="The workspace's folder.")
]
TestSetOption = Annotated[str, typer.Option("--test-set", "-t", help="The test set.")]
LabelsOption = Annotated[
    str | None, typer.Option("--labels", "-l", help="Score against this label set too: NAME or NAME@VERSION.")
]
CollapsedOption = Annotated[
    bool, typer.Option("--collapsed", help="Accept classes that people cannot tell apart (imagenet-1k).")
]
WithinOption = Annotated[
    str | None, typer.Option(help="Score among the classes of this space only, e.g. imagenet-a: the 200-way rule.")
]
MapOption = Annotated[
    Path | None,
    typer.Option(
        "--map", help="CSV or JSON from the labels' classes to the predicted ones, instead of the test set's own map."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Also print what was done as JSON, with the notes.")]
IdColumn = Annotated[str, typer.Option(help="The column with the example ids, if it has no usual name.")]
LabelColumn = Annotated[str, typer.Option(help="The column with the labels, if it has no usual name.")]
GroupColumns = Annotated[
    list[str],
    typer.Option(
        "--group",
        help="A column with groups such as region or income; in a folder, a level of folders above the class folders, "
        "outermost first. May be repeated.",
    ),
]


class Rule(StrEnum):
    """How multi-label accuracy is counted."""

    images = "images"
    classes = "classes"


class ClassNumbers(StrEnum):
    """What whole numbers in a file are."""

    auto = "auto"
    ids = "ids"
    indices = "indices"


RuleOption = Annotated[
    Rule | None,
    typer.Option(
        help="images: only correct labels count, mean over images. classes: correct or unclear, over classes."
    ),
]
NumbersOption = Annotated[
    ClassNumbers, typer.Option(help="Whether whole numbers are class ids or class indices, if both are possible.")
]


def opened(workspace: Path) -> Workspace:
    """The workspace of a command."""
    from regrade.workspace import open as open_workspace

    return open_workspace(workspace)


def columns(id_column: str, label_column: str, groups: list[str], numbers: ClassNumbers) -> Columns:
    """The columns that a command was told of."""
    from regrade.tables import Columns, Reading

    return Columns(id_column, label_column, tuple(groups), Reading(numbers.value))
