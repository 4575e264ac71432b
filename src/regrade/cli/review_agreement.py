"""regrade review agreement: agreement between reviewers."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.options import WorkspaceOption, opened


class AgreementTable(StrEnum):
    """The tables of agreement."""

    panel = "panel"
    reviewers = "reviewers"


@shown
def agreement(
    queue: Annotated[str | None, typer.Argument(help="The queue (default: all queues).")] = None,
    show: Annotated[
        AgreementTable,
        typer.Option(
            help="panel: agreement of all reviewers. reviewers: each reviewer of a queue compared with the others."
        ),
    ] = AgreementTable.panel,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Measure agreement between reviewers: equal answers, Fleiss' kappa and Krippendorff's alpha.

    Only independent votes count, which were cast before the reviewers could see each other's votes.
    """
    from dataclasses import replace

    from regrade.core import InputError

    opened_workspace = opened(workspace)
    if queue is not None:
        result = opened_workspace.agreement(queue)
        return CommandResult(
            result.table() if show is AgreementTable.panel else result.reviewer_table(), result.as_dict()
        )
    if show is AgreementTable.reviewers:
        raise InputError("--show reviewers needs the name of a queue")
    names = [queue.name for queue in opened_workspace.readable_ledger.queues.all() if queue.mode.value != "training"]
    if not names:
        raise InputError("there is no queue yet whose answers count: create one with regrade review queue")
    results = [opened_workspace.agreement(name) for name in names]
    tables = [result.table() for result in results]
    rows = tuple(row for table in tables for row in table.rows)
    notes = tables[0].notes[:1] + tuple(f"{result.queue}: {reason}" for result in results for reason in result.reasons)
    combined = replace(tables[0], title="agreement", rows=rows, notes=notes)
    return CommandResult(combined, {"agreement": [result.as_dict() for result in results]})
