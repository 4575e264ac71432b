"""regrade study people: compare people with models on the same images."""

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

_HEAD = 40  # rows of a table on a terminal


class PeopleTable(StrEnum):
    """The tables of the study."""

    accuracy = "accuracy"
    subsets = "subsets"
    tests = "tests"
    times = "times"
    agreement = "agreement"
    missed = "missed"


_NEEDS = {
    PeopleTable.subsets: "it requires images of a class group (--subset), or answer times",
    PeopleTable.tests: "it requires a model",
    PeopleTable.times: "it requires people with answer times",
    PeopleTable.agreement: "it requires two people who answered the same images",
}


@shown
def people(
    test_set: TestSetOption,
    person: Annotated[list[str], typer.Option(help="Use only this person. May be repeated (default: all).")] = [],
    model: Annotated[list[str], typer.Option(help="Use only this model. May be repeated (default: all).")] = [],
    labels: Annotated[
        str | None, typer.Option("--labels", "-l", help="Score against this label set: NAME or NAME@VERSION.")
    ] = None,
    rule: RuleOption = None,
    collapsed: CollapsedOption = False,
    subset: Annotated[
        list[str],
        typer.Option(
            help="Class group, or all classes but a group: objects, 'without dogs'. May be repeated (default: both and "
            "organisms)."
        ),
    ] = [],
    fast_seconds: Annotated[
        float, typer.Option(min=0, help="Images that the median person answers within this many seconds are fast.")
    ] = 60.0,
    show: Annotated[
        PeopleTable,
        typer.Option(
            help="Table to print. subsets: effect of --subset, compared with random classes. tests: McNemar test of "
            "every person and model. times: time and accuracy. agreement: between people. missed: images wrong for all."
        ),
    ] = PeopleTable.accuracy,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the random sets of classes.")] = 0,
    figure: FigureOption = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Compare people with models on the same images: accuracy by subset, tests, agreement, time, common errors."""
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
        PeopleTable.accuracy: result.table,
        PeopleTable.subsets: result.subset_table,
        PeopleTable.tests: result.test_table,
        PeopleTable.times: result.time_table,
        PeopleTable.agreement: result.agreement_table,
        PeopleTable.missed: result.missed_table,
    }
    table = tables[show]()
    if not table.rows and show in _NEEDS:
        raise InputError(f"the table {show.value} is empty: {_NEEDS[show]}")
    draw(result, figure)
    return CommandResult(table, result.as_dict(), _HEAD)
