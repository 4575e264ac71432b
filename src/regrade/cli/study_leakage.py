"""regrade study leakage: find images of a test set that are also in a training set."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.figures import FigureOption, draw
from regrade.cli.options import TestSetOption, WorkspaceOption, opened
from regrade.cli.output import say, watching, watching_images

if TYPE_CHECKING:
    from regrade.studies import Leakage

HEAD = 24  # rows of a table on a terminal


class LeakageTable(StrEnum):
    """The tables of the study."""

    distances = "distances"
    models = "models"
    pairs = "pairs"
    groups = "groups"


class SearchEngine(StrEnum):
    """The library that searches for neighbors."""

    numpy = "numpy"
    torch = "torch"
    cuda = "cuda"
    faiss = "faiss"


ByOption = Annotated[
    str,
    typer.Option(
        help="Distances, separated by commas: exact, pixels, dssim, phash; in a workspace also features (default: the "
        "first four)."
    ),
]
NearOption = Annotated[
    list[str],
    typer.Option(help="Override a distance threshold, e.g. phash=6. May be repeated.", metavar="DISTANCE=THRESHOLD"),
]
MostOption = Annotated[int, typer.Option(help="Maximum number of near duplicates per image.")]
SizeOption = Annotated[int, typer.Option(help="Images are scaled to this many pixels per side, a multiple of 32.")]
EngineOption = Annotated[
    SearchEngine, typer.Option(help="Search library; cuda and torch require torch, faiss requires faiss.")
]
PairsOption = Annotated[
    Path | None, typer.Option(help="Write the pairs to a file for manual review: .csv, or .html with both images.")
]
ShowOption = Annotated[
    LeakageTable | None,
    typer.Option(
        help="Table to print. models: accuracy with and without duplicates. pairs: all pairs. groups: within one set."
    ),
]


@shown
def leakage(
    test_set: TestSetOption,
    against: Annotated[
        str | None,
        typer.Option(
            help="Training set: a test set of the workspace, or a folder (default: search within the test set)."
        ),
    ] = None,
    by: ByOption = "",
    near: NearOption = [],
    model: Annotated[str | None, typer.Option(help="Also compare the features of this model.")] = None,
    most: MostOption = 10,
    size: SizeOption = 256,
    engine: EngineOption = SearchEngine.numpy,
    show: ShowOption = None,
    pairs: PairsOption = None,
    figure: FigureOption = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Find exact and near duplicates between a test set and another set, and grade every model without them.

    Signatures of images are stored in the workspace, so that later searches do not decode the images again.
    """
    result = opened(workspace).leakage(
        test_set,
        against=against,
        by=distances(by),
        near=thresholds(near),
        model=model,
        most=most,
        size=size,
        engine=engine.value,
        pairs=pairs,
        progress=watching,
        image_progress=watching_images,
    )
    draw(result, figure)
    return shown_leakage(result, show, pairs)


def shown_leakage(result: Leakage, show: LeakageTable | None, pairs: Path | None) -> CommandResult:
    """The result of a search, with the selected table."""
    from regrade.studies import LeakagePart

    if pairs is not None:
        say(f"pairs: {pairs}")
    if show is not None:
        return CommandResult(result.part(LeakagePart(show.value)), result.as_dict(), HEAD)
    table = result.table()
    tables = [part.value for part in result.parts if part is not LeakagePart.DISTANCES]
    notes = (f"further tables with --show: {', '.join(tables)}",) if tables else ()
    return CommandResult(replace(table, notes=(*table.notes, *notes)), result.as_dict(), HEAD)


def distances(by: str) -> list[str]:
    """The names in a list that is separated by commas."""
    return [name.strip() for name in by.split(",") if name.strip()]


def thresholds(near: list[str]) -> dict[str, float]:
    """Thresholds by distance, from texts such as ``phash=6``."""
    from regrade.core import InputError

    by_distance = {}
    for text in near:
        name, _, number = text.partition("=")
        try:
            by_distance[name.strip()] = float(number)
        except ValueError:
            raise InputError(f"--near takes DISTANCE=THRESHOLD, e.g. phash=6, got {text!r}") from None
    return by_distance
