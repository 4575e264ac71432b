"""regrade review agreement: how far reviewers agree."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.options import WorkspaceOption, opened


class Show(StrEnum):
    """The tables of agreement."""

    panel = "panel"
    reviewers = "reviewers"


@shown
def agreement(
    queue: Annotated[str | None, typer.Argument(help="The queue; all of them unless given.")] = None,
    show: Annotated[
        Show, typer.Option(help="panel: how far all agree. reviewers: everyone in a queue against the others.")
    ] = Show.panel,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Measure how far reviewers agree: equal answers, Fleiss' kappa, Krippendorff's alpha, each against the others.

    What counts is what people said before anyone could see the others' votes: discussion makes agreement.
    """
    from dataclasses import replace

    from regrade.core import InputError

    here = opened(workspace)
    if queue is not None:
        found = here.agreement(queue)
        return CommandResult(found.table() if show is Show.panel else found.reviewer_table(), found.as_dict())
    if show is Show.reviewers:
        raise InputError("reviewers are those of one queue: name it")
    names = [one.name for one in here.readable_ledger.queues() if one.mode.value != "training"]
    if not names:
        raise InputError("there is no queue yet whose answers count: fill one with regrade review queue")
    results = [here.agreement(name) for name in names]
    tables = [one.table() for one in results]
    rows = tuple(row for table in tables for row in table.rows)
    notes = tables[0].notes[:1] + tuple(f"{one.queue}: {reason}" for one in results for reason in one.reasons)
    whole = replace(tables[0], title="agreement", rows=rows, notes=notes)
    return CommandResult(whole, {"agreement": [one.as_dict() for one in results]})
