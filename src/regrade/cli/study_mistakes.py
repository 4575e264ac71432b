"""regrade study mistakes: classify the mistakes of models by category and severity."""

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

_HEAD = 24  # rows of a table on a terminal


class MistakesTable(StrEnum):
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
    labels: Annotated[str, typer.Option("--labels", "-l", help="Label set: NAME (newest version) or NAME@VERSION.")],
    model: Annotated[
        list[str],
        typer.Option(
            help="Use only this model; a model without predictions is studied by its mistake review. May be repeated."
        ),
    ] = [],
    against: Annotated[
        str | None, typer.Option(help="Compare the other models with this one: mistakes fixed, new and common.")
    ] = None,
    show: Annotated[
        MistakesTable | None,
        typer.Option(
            help="Table to print. triage: suggested categories. agreement: of suggested and people's categories. "
            "categories: by severity, with chi-square test. distance: in the hierarchy. pairs: confused classes. "
            "compare: --against. major: the slice of major mistakes."
        ),
    ] = None,
    relabeled: Annotated[str | None, typer.Option(help="Later label set: show how many mistakes it accepts.")] = None,
    collapsed: CollapsedOption = False,
    also: Annotated[
        list[str], typer.Option(help="Also compare with the mistake reviews of this test set. May be repeated.")
    ] = [],
    pairs_from: Annotated[
        str | None,
        typer.Option(
            help="Label set that shows which classes occur together (default: real if stored, otherwise --labels)."
        ),
    ] = None,
    least_major: Annotated[
        int | None,
        typer.Option(help="Number of reviews that must call a mistake major (default: three quarters of the reviews)."),
    ] = None,
    save_major: Annotated[
        str | None, typer.Option(help="Store the slice of major mistakes under this name.", metavar="NAME")
    ] = None,
    figure: FigureOption = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Study mistakes: categories by people or by an automatic triage, confused classes, and what newer models fix."""
    from regrade.core import InputError
    from regrade.studies import MistakePart

    ws = opened(workspace)
    result = ws.mistakes(
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
    shown_part = show or (MistakesTable.compare if against else None)
    if shown_part:
        table = result.part(MistakePart(shown_part.value))
    else:
        tables = ", ".join(part.value for part in result.parts if part is not MistakePart.FLOW)
        table = result.table()
        table = replace(table, notes=(*table.notes, f"further tables with --show: {tables}"))
    if save_major is not None:
        if result.major is None:
            raise InputError("--save-major requires mistake reviews: add them with regrade import mistakes")
        stored = ws.keep_slices(result.major.as_slices(save_major))
        summary = f"{save_major} of {test_set}: {amount(result.major.images, 'image')}"
        say(f"{'slice' if stored.new else 'unchanged: slice'} {summary}")
    draw(result, figure)
    return CommandResult(table, result.as_dict(), _HEAD)
