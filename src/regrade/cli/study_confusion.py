"""regrade study confusion: which images confuse an ensemble, and do they confuse other models too?"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from math import e
from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.figures import FigureOption, draw
from regrade.cli.options import TestSetOption, WorkspaceOption, opened
from regrade.cli.output import say, watching
from regrade.core.amounts import amount

_HEAD = 24  # lines of a table that a terminal shows at once


class Base(StrEnum):
    """The base of the logarithm."""

    bits = "2"
    nats = "e"
    hartleys = "10"


class Show(StrEnum):
    """The tables of the study."""

    models = "models"
    bins = "bins"
    images = "images"
    distribution = "distribution"
    checkpoints = "checkpoints"
    ranks = "ranks"
    expected = "expected"


@shown
def confusion(
    test_set: TestSetOption,
    ensemble: Annotated[
        list[str],
        typer.Option(
            help="The ensemble whose confusion it is; further ones are compared with it. May be repeated; the only one "
            "that is stored unless given."
        ),
    ] = [],
    member: Annotated[
        list[str],
        typer.Option(help="Models with stored scores as the ensemble, of one epoch. May be repeated."),
    ] = [],
    model: Annotated[list[str], typer.Option(help="Hold only these models against it. May be repeated.")] = [],
    above: Annotated[float | None, typer.Option(help="Hard images have at least this score.")] = None,
    hardest: Annotated[
        int | None, typer.Option(min=1, help="Hard images are the hardest so many; a tenth of all unless given.")
    ] = None,
    per_class: Annotated[bool, typer.Option("--per-class", help="The hardest so many of each class.")] = False,
    write: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Store the hard images: as test set NAME, and as slice NAME of this one."),
    ] = None,
    unlabeled: Annotated[
        str | None,
        typer.Option(help="Expect models' errors on this test set, without its labels.", metavar="TEST_SET"),
    ] = None,
    show: Annotated[
        Show | None,
        typer.Option(
            help="Another table. bins: error by score. images: the score of each. distribution: of the scores. "
            "checkpoints: what fewer epochs or seeds give. ranks: between ensembles or seeds. expected: --unlabeled."
        ),
    ] = None,
    base: Annotated[Base, typer.Option(help="Of the logarithm: scores are in bits unless given.")] = Base.bits,
    bin_width: Annotated[float, typer.Option("--bin", help="How wide bins of scores are.")] = 0.1,
    seed: Annotated[int, typer.Option(min=0, help="Of the draws of images behind some intervals.")] = 0,
    figure: FigureOption = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Score images by how they confuse an ensemble in training: errors by score, hard images and who fails on them."""
    from regrade.studies import ConfusionPart

    here = opened(workspace)
    result = here.confusion(
        test_set,
        ensembles=ensemble,
        members=member,
        models=model,
        base=e if base is Base.nats else float(base.value),
        bin_width=bin_width,
        above=above,
        hardest=hardest,
        per_class=per_class,
        unlabeled=unlabeled,
        seed=seed,
        progress=watching,
    )
    part = show or (Show.expected if unlabeled else None)
    if part:
        table = result.part(ConfusionPart(part.value))
    else:
        table = result.table()
        others = ", ".join(each.value for each in result.parts)
        table = replace(table, notes=(*table.notes, f"further tables with --show: {others}"))
    if write is not None:
        kept = here.keep_hard_set(result, write)
        images = amount(len(kept.test_set), "image")
        missing = "" if kept.images else ", without images as the source has none"
        say(f"{'test set' if kept.new else 'unchanged: test set'} and slice {write} of {test_set}: {images}{missing}")
    draw(result, figure)
    return CommandResult(table, result.as_dict(), _HEAD)
