"""regrade study confusion: score images by the confusion of an ensemble, and test other models on the hard ones."""

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

_HEAD = 24  # rows of a table on a terminal


class Base(StrEnum):
    """Base of the logarithm."""

    bits = "2"
    nats = "e"
    hartleys = "10"


class ConfusionTable(StrEnum):
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
            help="Ensemble that scores the images; further ones are compared with it. May be repeated (default: the "
            "only stored ensemble)."
        ),
    ] = [],
    member: Annotated[
        list[str],
        typer.Option(help="Model with stored scores, as a member of an ensemble of one epoch. May be repeated."),
    ] = [],
    model: Annotated[list[str], typer.Option(help="Evaluate only this model. May be repeated (default: all).")] = [],
    above: Annotated[float | None, typer.Option(help="Images with at least this score are hard.")] = None,
    hardest: Annotated[
        int | None, typer.Option(min=1, help="Keep the N hardest images (default: a tenth of all images).", metavar="N")
    ] = None,
    per_class: Annotated[
        bool, typer.Option("--per-class", help="With --hardest: the N hardest images of each class.")
    ] = False,
    write: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Store the hard images as test set NAME, and as slice NAME of this test set."
        ),
    ] = None,
    unlabeled: Annotated[
        str | None,
        typer.Option(help="Predict the models' errors on this test set without using its labels.", metavar="TEST_SET"),
    ] = None,
    show: Annotated[
        ConfusionTable | None,
        typer.Option(
            help="Table to print. bins: error by score. images: score per image. distribution: of the scores. "
            "checkpoints: with fewer epochs or seeds. ranks: correlation of ensembles or seeds. expected: --unlabeled."
        ),
    ] = None,
    base: Annotated[Base, typer.Option(help="Base of the logarithm: 2 (bits), e (nats) or 10 (hartleys).")] = Base.bits,
    bin_width: Annotated[float, typer.Option("--bin", help="Width of the score bins.")] = 0.1,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the bootstrap intervals.")] = 0,
    figure: FigureOption = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Score images by the confusion of an ensemble during training; show errors by score and on the hard images."""
    from regrade.studies import ConfusionPart

    ws = opened(workspace)
    result = ws.confusion(
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
    selected = show or (ConfusionTable.expected if unlabeled else None)
    if selected:
        table = result.part(ConfusionPart(selected.value))
    else:
        table = result.table()
        tables = ", ".join(part.value for part in result.parts)
        table = replace(table, notes=(*table.notes, f"further tables with --show: {tables}"))
    if write is not None:
        stored = ws.keep_hard_set(result, write)
        images = amount(len(stored.test_set), "image")
        missing = "" if stored.images else ", without images as the source has none"
        say(f"{'test set' if stored.new else 'unchanged: test set'} and slice {write} of {test_set}: {images}{missing}")
    draw(result, figure)
    return CommandResult(table, result.as_dict(), _HEAD)
