"""regrade study people: people and models on the same images."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.figures import FigureOption, draw
from regrade.cli.options import (
    CollapsedOption,
    RuleOption,
    TestSetOption,
    WorkspaceOption,
    opened,
)
from regrade.cli.output import watching

_HEAD = 40  # lines of a table that a terminal shows at once


class Show(StrEnum):
    """The tables of the study."""

    accuracy = "accuracy"
    subsets = "subsets"
    tests = "tests"
    times = "times"
    agreement = "agreement"
    missed = "missed"


_NEEDS = {
    Show.subsets: "it needs images of a group of classes (--subset), or times",
    Show.tests: "it needs a model",
    Show.times: "it needs people whose times are known",
    Show.agreement: "it needs two people who answered the same images",
}


@shown
def people(
    test_set: TestSetOption,
    person: Annotated[list[str], typer.Option(help="Only these people. May be repeated.")] = [],
    model: Annotated[list[str], typer.Option(help="Only these models. May be repeated.")] = [],
    labels: Annotated[
        str | None, typer.Option("--labels", "-l", help="Right is what is right under this label set: NAME or NAME@V.")
    ] = None,
    rule: RuleOption = None,
    collapsed: CollapsedOption = False,
    subset: Annotated[
        list[str],
        typer.Option(
            help="A group of classes, or all but one: objects, 'without dogs'. May be repeated; these and organisms if "
            "none is given."
        ),
    ] = [],
    fast_seconds: Annotated[float, typer.Option(min=0, help="What is fast for the median person.")] = 60.0,
    show: Annotated[
        Show,
        typer.Option(
            help="Which table. subsets: what they change, against random classes. tests: McNemar, every person against "
            "every model. times: time and accuracy. agreement: between people. missed: images wrong for all."
        ),
    ] = Show.accuracy,
    seed: Annotated[int, typer.Option(min=0, help="Of the random sets of classes.")] = 0,
    figure: FigureOption = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Hold people against models on the same images: accuracy by subset, tests, agreement, time, what all miss."""
    from regrade.core import InputError

    result = opened(workspace).people(
        test_set,
        people=person,
        models=model,
        labels=labels,
        rule=rule.value if rule else None,
        collapsed=collapsed,
        subsets=subset,
        fast_seconds=fast_seconds,
        seed=seed,
        progress=watching,
    )
    tables = {
        Show.accuracy: result.table,
        Show.subsets: result.subset_table,
        Show.tests: result.test_table,
        Show.times: result.time_table,
        Show.agreement: result.agreement_table,
        Show.missed: result.missed_table,
    }
    table = tables[show]()
    if not table.rows and show in _NEEDS:
        raise InputError(f"there is nothing to show as {show.value}: {_NEEDS[show]}")
    draw(result, figure)
    return CommandResult(table, result.as_dict(), _HEAD)
