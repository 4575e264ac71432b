"""regrade study leakage: are the images of a test set in a training set too?"""

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

HEAD = 24  # lines of a table that a terminal shows at once


class Show(StrEnum):
    """The tables of the study."""

    distances = "distances"
    models = "models"
    pairs = "pairs"
    groups = "groups"


class SearchEngine(StrEnum):
    """What searches."""

    numpy = "numpy"
    torch = "torch"
    cuda = "cuda"
    faiss = "faiss"


ByOption = Annotated[
    str,
    typer.Option(
        help="Distances, with commas: exact, pixels, dssim, phash; in a workspace features too. The first four unless "
        "given."
    ),
]
NearOption = Annotated[
    list[str],
    typer.Option(help="Another cut than the usual one, e.g. phash=6. May be repeated.", metavar="DISTANCE=CUT"),
]
MostOption = Annotated[int, typer.Option(help="How many near duplicates an image lists at most.")]
SizeOption = Annotated[int, typer.Option(help="The side to which images are scaled, a multiple of 32.")]
EngineOption = Annotated[
    SearchEngine, typer.Option(help="What searches; cuda and torch need torch, faiss needs faiss.")
]
PairsOption = Annotated[
    Path | None, typer.Option(help="Write the pairs for people to judge: .csv, or .html with both images.")
]
ShowOption = Annotated[
    Show | None,
    typer.Option(help="Another table. models: accuracies with and without. pairs: all of them. groups: within a set."),
]


@shown
def leakage(
    test_set: TestSetOption,
    against: Annotated[
        str | None,
        typer.Option(help="The training set: a test set of the workspace, or a folder. Within the set unless given."),
    ] = None,
    by: ByOption = "",
    near: NearOption = [],
    model: Annotated[str | None, typer.Option(help="Compare the features of this model too.")] = None,
    most: MostOption = 10,
    size: SizeOption = 256,
    engine: EngineOption = SearchEngine.numpy,
    show: ShowOption = None,
    pairs: PairsOption = None,
    figure: FigureOption = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Are images of a test set in another set too? Twins by pixels and by looks, and every model without them.

    Signatures of images are kept in the workspace: what was looked at once is not decoded again.
    """
    result = opened(workspace).leakage(
        test_set,
        against=against,
        by=distances(by),
        near=cuts(near),
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


def shown_leakage(result: Leakage, show: Show | None, pairs: Path | None) -> CommandResult:
    """What a search found as a command shows it."""
    from regrade.studies import LeakagePart

    if pairs is not None:
        say(f"pairs: {pairs}")
    if show is not None:
        return CommandResult(result.part(LeakagePart(show.value)), result.as_dict(), HEAD)
    table = result.table()
    others = [part.value for part in result.parts if part is not LeakagePart.DISTANCES]
    notes = (f"further tables with --show: {', '.join(others)}",) if others else ()
    return CommandResult(replace(table, notes=(*table.notes, *notes)), result.as_dict(), HEAD)


def distances(by: str) -> list[str]:
    """Distances as they are typed, with commas."""
    return [name.strip() for name in by.split(",") if name.strip()]


def cuts(near: list[str]) -> dict[str, float]:
    """Cuts as they are typed: a distance, an equals sign and a number."""
    from regrade.core import InputError

    found = {}
    for text in near:
        name, _, number = text.partition("=")
        try:
            found[name.strip()] = float(number)
        except ValueError:
            raise InputError(f"a cut is given as distance=number, e.g. phash=6, got {text!r}") from None
    return found
