"""regrade study mistakes: which mistakes are any, of what kind, how grave, and whose?"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.figures import FigureOption, draw
from regrade.cli.options import CollapsedOption, TestSetOption, WorkspaceOption, opened
from regrade.cli.output import say, watching
from regrade.core.amounts import amount

_HEAD = 24  # lines of a table that a terminal shows at once


class Show(StrEnum):
    """The tables of the study."""

    flow = "flow"
    triage = "triage"
    agreement = "agreement"
    categories = "categories"
    distance = "distance"
    pairs = "pairs"
    compare = "compare"
    major = "major"


@shown
def mistakes(
    test_set: TestSetOption,
    labels: Annotated[str, typer.Option("--labels", "-l", help="The label set: NAME or NAME@VERSION.")],
    model: Annotated[
        list[str],
        typer.Option(help="Only these models; one without predictions stands for its review. May be repeated."),
    ] = [],
    against: Annotated[
        str | None, typer.Option(help="Hold the others against this model: mistakes fixed, new and common.")
    ] = None,
    show: Annotated[
        Show | None,
        typer.Option(
            help="Another table. triage: suggested kinds of errors. agreement: these beside people's. categories: by "
            "severity, with chi-square. distance: in the hierarchy. pairs: confused classes. compare: --against. "
            "major: the slice of major mistakes."
        ),
    ] = None,
    relabeled: Annotated[
        str | None, typer.Option(help="Labels that came later, to see what they make of the mistakes.")
    ] = None,
    collapsed: CollapsedOption = False,
    also: Annotated[
        list[str], typer.Option(help="Compare with the reviews of mistakes on this test set too. May be repeated.")
    ] = [],
    pairs_from: Annotated[
        str | None,
        typer.Option(help="The label set that shows which classes occur together: real, or else --labels."),
    ] = None,
    least_major: Annotated[
        int | None,
        typer.Option(help="How many reviews make an image a major mistake; three of four of them unless given."),
    ] = None,
    save_major: Annotated[
        str | None, typer.Option(help="Keep the slice of major mistakes under this name.", metavar="NAME")
    ] = None,
    figure: FigureOption = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Study mistakes: what people or a triage make of them, confused classes, and what newer models fix."""
    from regrade.core import InputError
    from regrade.studies import MistakePart

    here = opened(workspace)
    result = here.mistakes(
        test_set,
        labels=labels,
        relabeled=relabeled,
        collapsed=collapsed,
        models=model,
        against=against,
        other_sets=also,
        least_major=least_major,
        pairs_from=pairs_from,
        progress=watching,
    )
    shown_part = show or (Show.compare if against else None)
    if shown_part:
        table = result.part(MistakePart(shown_part.value))
    else:
        others = ", ".join(part.value for part in result.parts if part is not MistakePart.FLOW)
        table = result.table()
        table = replace(table, notes=(*table.notes, f"further tables with --show: {others}"))
    if save_major is not None:
        if result.major is None:
            raise InputError("there are no reviews of mistakes, so no slice of major ones: regrade import mistakes")
        kept = here.keep_slices(result.major.as_slices(save_major))
        words = f"{save_major} of {test_set}: {amount(result.major.images, 'image')}"
        say(f"{'slice' if kept.new else 'unchanged: slice'} {words}")
    draw(result, figure)
    return CommandResult(table, result.as_dict(), _HEAD)
