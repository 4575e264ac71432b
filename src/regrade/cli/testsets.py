"""regrade testsets: list, add, show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.options import (
    ClassNumbers,
    Csv,
    GroupColumns,
    IdColumn,
    Json,
    LabelColumn,
    Latex,
    Markdown,
    NumbersOption,
    WorkspaceOption,
    columns,
    opened,
)
from regrade.cli.output import chosen_form, say, show

app = typer.Typer(help="The test sets of a workspace.", no_args_is_help=True)


@app.command("list")
def list_(
    workspace: WorkspaceOption = Path(),
    as_json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
    latex: Latex = False,
) -> None:
    """List the test sets."""
    from regrade.core import Column, Table

    form = chosen_form(as_json=as_json, csv=csv, markdown=markdown, latex=latex)
    store = opened(workspace).store
    keys = ("test_set", "examples", "classes", "class_space", "groups", "models", "labels", "digest")
    rows = []
    for name in store.test_set_names():
        found = store.test_set(name)
        rows.append((
            name, len(found), len(set(found.labels[found.labeled])), found.class_space.name, ", ".join(found.groups),
            len(store.model_names(name)), ", ".join(store.label_set_names(name)), found.digest[:12],
        ))  # fmt: skip
    table = Table("test sets", tuple(Column(key, key.replace("_", " ")) for key in keys), tuple(rows))
    show(table, {"test_sets": table.records()}, form)


@app.command()
def add(
    name: Annotated[str, typer.Argument(help="What to call the test set.")],
    file: Annotated[Path, typer.Argument(help="A table with example ids, labels and groups.")],
    classes: Annotated[str, typer.Option(help="The class space: imagenet-1k, ..., or a CSV, JSON or folder.")],
    id_column: IdColumn = "",
    label_column: LabelColumn = "",
    group: GroupColumns = [],
    class_numbers: NumbersOption = ClassNumbers.auto,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Add a test set without pictures, from a table of ids and labels."""
    done = opened(workspace).add_test_set(
        name, file, classes=classes, columns=columns(id_column, label_column, group, class_numbers)
    )
    say(f"{'added' if done.new else 'unchanged:'} test set {name}")
