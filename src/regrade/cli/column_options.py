"""Options of commands that read tables: which columns they use, and how integers in them are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from regrade.tables import Columns, Reading

IdColumn = Annotated[str, typer.Option(help="Column of the example ids (default: recognized by its name).")]
LabelColumn = Annotated[str, typer.Option(help="Column of the labels (default: recognized by its name).")]
PredictionColumns = Annotated[
    list[str],
    typer.Option(
        "--prediction-column",
        help="Column of the predictions, best class first if repeated; without --model, a column per model.",
    ),
]
GroupColumns = Annotated[
    list[str],
    typer.Option(
        "--group",
        help="Column of groups, such as region or income; for image folders, a level of folders above the class "
        "folders, outermost first. May be repeated.",
    ),
]


NumbersOption = Annotated[
    Reading, typer.Option(help="Read integers as class ids or as class indices, where both are possible.")
]


def columns(
    id_column: str, label_column: str, groups: list[str], numbers: Reading, predictions: Sequence[str] = ()
) -> Columns:
    """The columns that are named by the options of a command."""
    return Columns(id_column, label_column, tuple(groups), numbers, tuple(predictions))
