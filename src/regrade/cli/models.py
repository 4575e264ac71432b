"""regrade models: list, check."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.listing import ListErrors
from regrade.cli.options import TestSetOption, WorkspaceOption, opened
from regrade.cli.output import watching

app = typer.Typer(help="The models of a workspace.", no_args_is_help=True)


@app.command("list")
@shown
def list_(workspace: WorkspaceOption = Path()) -> CommandResult:
    """List the models and people, and the test sets they have answers on.

    One whose manifest is damaged is named and left out, and the exit code is then 1.
    """
    from regrade.core import Column, Table
    from regrade.store.prediction_folder import read_manifest

    store, unreadable = opened(workspace).store, ListErrors()
    sets: dict[str, list[str]] = {}
    for test_set in store.test_set_names():
        for model in (*store.model_names(test_set), *store.people_names(test_set)):
            with unreadable.left_out():
                read_manifest(store.prediction_folder(test_set, model))
                sets.setdefault(model, []).append(test_set)
    rows = tuple((model, ", ".join(sets[model])) for model in sorted(sets))
    table = Table("models", (Column("model", "model"), Column("test_sets", "test sets")), rows)
    return unreadable.shown_with(table, {"models": [{"model": name, "test_sets": sets[name]} for name in sorted(sets)]})


@app.command()
@shown
def check(
    test_set: TestSetOption,
    published: Annotated[
        Path | None, typer.Option(help="A CSV of published accuracies with the columns model and top1 (percent).")
    ] = None,
    prefix: Annotated[
        str, typer.Option(help="What the models of that file are called here before the colon; empty: as they are.")
    ] = "timm",
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Hold the models' accuracies against published ones, and warn of those that are far off.

    Exits with 3 if any is more than half a point outside its interval.
    """
    found = opened(workspace).check_models(test_set, published=published, prefix=prefix, progress=watching)
    table = found.table()
    data = {"test_set": test_set, "models": table.records(), "warnings": list(found.warnings)}
    return CommandResult(table, data, exit_code=3 if found.warnings else 0)
