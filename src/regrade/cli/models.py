"""regrade models: list."""

from __future__ import annotations

from pathlib import Path

import typer

from regrade.cli.options import Csv, Json, Latex, Markdown, WorkspaceOption, opened
from regrade.cli.output import chosen_form, show

app = typer.Typer(help="The models of a workspace.", no_args_is_help=True)


@app.command("list")
def list_(
    workspace: WorkspaceOption = Path(),
    as_json: Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
    latex: Latex = False,
) -> None:
    """List the models and the test sets they have predictions on."""
    from regrade.core import Column, Table

    form = chosen_form(as_json=as_json, csv=csv, markdown=markdown, latex=latex)
    store = opened(workspace).store
    sets: dict[str, list[str]] = {}
    for test_set in store.test_set_names():
        for model in store.model_names(test_set):
            sets.setdefault(model, []).append(test_set)
    rows = tuple((model, ", ".join(sets[model])) for model in sorted(sets))
    table = Table("models", (Column("model", "model"), Column("test_sets", "test sets")), rows)
    show(table, {"models": [{"model": model, "test_sets": sets[model]} for model in sorted(sets)]}, form)
