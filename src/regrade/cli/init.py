"""regrade init: a new workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.output import say


def init(folder: Annotated[Path, typer.Argument(help="The folder; it is made if it is not there.")]) -> None:
    """Make a new workspace with a commented regrade.toml."""
    from regrade.workspace import init as make

    make(folder)
    say(f"made the workspace {folder}")
    say(f"next: regrade import predictions FILE --test-set NAME --classes SPACE -w {folder}")
