"""The option --figure, which every command with a figure has."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.output import say

FigureOption = Annotated[
    Path | None,
    typer.Option("--figure", help="Also draw it, as .html (interactive), .svg, .png, .pdf or .json (Vega-Lite)."),
]


def draw(result: object, path: Path | None) -> None:
    """Save the figure of a result if one is wanted."""
    if path is not None:
        from regrade.report import figure

        say(f"figure: {figure(result).save(path)}")
