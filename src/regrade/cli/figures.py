"""The option --figure, shared by all commands that can draw their result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.output import say

FigureOption = Annotated[
    Path | None,
    typer.Option("--figure", help="Also save a figure: .html (interactive), .svg, .png, .pdf or .json (Vega-Lite)."),
]


def draw(result: object, path: Path | None) -> None:
    """Save the figure of a result if a path is given."""
    if path is not None:
        from regrade.report import figure

        say(f"figure: {figure(result).save(path)}")
