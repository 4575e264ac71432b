"""regrade models: list models, and check their accuracies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.command_result import CommandResult, ListErrors, shown
from regrade.cli.options import TestSetOption, WorkspaceOption, opened
from regrade.cli.output import watching

app = typer.Typer(no_args_is_help=True)


@app.command("list")
@shown
def list_(workspace: WorkspaceOption = Path()) -> CommandResult:
    """List the models and people, and the test sets for which predictions are stored.

    Predictions with a damaged manifest are skipped and reported as errors; the exit code is then 1.
    """
    from regrade.core import Column, Table
    from regrade.store.predictions import read_manifest

    store, errors = opened(workspace).store, ListErrors()
    sets: dict[str, list[str]] = {}
    for test_set in store.test_sets.names():
        for model in (*store.predictions.model_names(test_set), *store.predictions.people_names(test_set)):
            with errors.skip_unreadable():
                read_manifest(store.predictions.path(test_set, model))
                sets.setdefault(model, []).append(test_set)
    rows = tuple((model, ", ".join(sets[model])) for model in sorted(sets))
    table = Table("models", (Column("model", "model"), Column("test_sets", "test sets")), rows)
    return errors.result_with(table, {"models": [{"model": name, "test_sets": sets[name]} for name in sorted(sets)]})


@app.command()
@shown
def check(
    test_set: TestSetOption,
    published: Annotated[
        Path | None,
        typer.Option(
            help="CSV with the columns model and top1 (percent), in addition to the built-in published accuracies."
        ),
    ] = None,
    prefix: Annotated[
        str,
        typer.Option(
            help="Prefix of the models in the workspace, e.g. timm for timm:resnet50; empty: names as in the CSV."
        ),
    ] = "timm",
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Compare the models' accuracies with published ones, and warn about large differences.

    Exits with 3 if a published accuracy is more than half a percentage point outside the confidence interval.
    """
    result = opened(workspace).models.check(test_set, published=published, prefix=prefix, progress=watching)
    table = result.table()
    data = {"test_set": test_set, "models": table.records(), "warnings": list(result.warnings)}
    return CommandResult(table, data, exit_code=3 if result.warnings else 0)
