"""regrade replicate: a paper's own tables, recomputed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.shown import Shown, shown


@shown
def replicate(
    paper: Annotated[str, typer.Argument(help="The paper: recht2019, shankar2020 or vasudevan2022.")],
    data: Annotated[Path, typer.Option(help="The folder of its published data.")],
) -> Shown:
    """Recompute every figure of a paper that its published data allow: as printed, as recomputed, and the outcome."""
    from regrade.replicate import replicate as recompute

    found = recompute(paper, data)
    return Shown(found.table(), found.as_dict())
