"""regrade study: the questions of the papers, asked of a workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.output import say

app = typer.Typer(help="Studies: what the predictions of a workspace show together.", no_args_is_help=True)

FigureOption = Annotated[
    Path | None, typer.Option("--figure", help="Also draw it, as .html (interactive), .svg, .png or .pdf.")
]


def draw(result: object, path: Path | None) -> None:
    """Save the figure of a result if one is wanted."""
    if path is not None:
        from regrade.report import figure

        say(f"figure: {figure(result).save(path)}")


# The commands use what is above, so they are imported below it.
from regrade.cli.study_generalization import generalization  # noqa: E402
from regrade.cli.study_mistakes import mistakes  # noqa: E402
from regrade.cli.study_people import people  # noqa: E402
from regrade.cli.study_similarity import similarity  # noqa: E402

app.command("generalization")(generalization)
app.command("mistakes")(mistakes)
app.command("people")(people)
app.command("similarity")(similarity)
