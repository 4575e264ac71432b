"""regrade init: create a workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.output import say


def init(
    folder: Annotated[Path, typer.Argument(help="Folder of the workspace; created if it does not exist.")],
) -> None:
    """Create a workspace with a commented regrade.toml."""
    from regrade.workspace import init as create_workspace

    create_workspace(folder)
    say(f"created the workspace {folder}")
    say(f"next: regrade import predictions FILE --test-set NAME --classes SPACE -w {folder}")
