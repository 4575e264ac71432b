"""regrade models: list."""

from __future__ import annotations

from pathlib import Path

import typer

from regrade.cli.options import WorkspaceOption, opened
from regrade.cli.shown import Shown, shown

app = typer.Typer(help="The models of a workspace.", no_args_is_help=True)


@app.command("list")
@shown
def list_(
    workspace: WorkspaceOption = Path(),
) -> Shown:
    """List the models and the test sets they have predictions on."""
    from regrade.core import Column, Table

    store = opened(workspace).store
    sets: dict[str, list[str]] = {}
    for test_set in store.test_set_names():
        for model in store.model_names(test_set):
            sets.setdefault(model, []).append(test_set)
    rows = tuple((model, ", ".join(sets[model])) for model in sorted(sets))
    table = Table("models", (Column("model", "model"), Column("test_sets", "test sets")), rows)
    return Shown(table, {"models": [{"model": model, "test_sets": sets[model]} for model in sorted(sets)]})
