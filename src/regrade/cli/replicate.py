"""regrade replicate: recompute the published figures of a paper."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regrade.cli.command_result import CommandResult, shown

if TYPE_CHECKING:
    from regrade.replicate import PublishedFile


@shown
def replicate(
    paper: Annotated[
        str, typer.Argument(help="Paper: recht2019, shankar2020, vasudevan2022, albiero2023 or richards2023.")
    ],
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of the paper's published data (default: downloaded once and verified)."),
    ] = None,
) -> CommandResult:
    """Recompute the figures of a paper from its published data, and compare them with the printed ones.

    A miss is a figure that differs from the printed value and from the expected correction; the exit code is then 1.
    """
    from regrade.core.amounts import amount
    from regrade.replicate import CellOutcome
    from regrade.replicate import replicate as recompute

    replication = recompute(paper, data, progress=_watching)
    table, content = replication.table(), replication.as_dict()
    misses = replication.count(CellOutcome.MISS)
    if not misses:
        return CommandResult(table, content)
    return CommandResult(table, content, exit_code=1, errors=(f"{amount(misses, 'miss', 'misses')} in {paper}",))


def _watching(files: Sequence[PublishedFile]) -> Iterable[PublishedFile]:
    """Iterate over files, with a progress bar on standard error if it is a terminal."""
    if not sys.stderr.isatty():
        return files
    from rich.console import Console
    from rich.progress import track

    return track(files, description="downloading published files", console=Console(stderr=True), transient=True)
