"""regrade replicate: a paper's own tables, recomputed."""

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
        str, typer.Argument(help="The paper: recht2019, shankar2020, vasudevan2022, albiero2023 or richards2023.")
    ],
    data: Annotated[
        Path | None,
        typer.Option(help="The folder of its published data; without it they are downloaded once and verified."),
    ] = None,
) -> CommandResult:
    """Recompute every figure of a paper that its published data allow: as printed, as recomputed, and the outcome.

    A miss is a figure that is neither the printed one nor the value expected instead; the exit code is then 1.
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
    """Go through files with a progress bar on standard error, where someone is there to see it."""
    if not sys.stderr.isatty():
        return files
    from rich.console import Console
    from rich.progress import track

    return track(files, description="fetching published files", console=Console(stderr=True), transient=True)
