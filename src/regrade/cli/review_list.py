"""regrade review list, assign and overlap: the progress, the people and the overlap of queues."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.options import WorkspaceOption, opened
from regrade.cli.output import say
from regrade.core.amounts import amount

if TYPE_CHECKING:
    from regrade.ledger import Ledger, Queue


@shown
def list_(
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """List the queues with their question, progress, unreadable images, and number of votes by person."""
    from regrade.core import Column, Table

    ledger = opened(workspace).readable_ledger
    queues = [_as_dict(ledger, queue) for queue in ledger.queues.all()]
    headings = {"overlap": "votes per item", "disputed": "to discuss", "reported": "unreadable",
                "by_person": "votes by", "assigned": "for"}  # fmt: skip
    keys = ("queue", "question", "test_set", "items", "overlap", "answered", "decided", "disputed", "reported",
            "by_person", "assigned")  # fmt: skip
    rows = tuple(
        tuple(
            {
                **row,
                "question": row["question"] + (", training" if row["mode"] == "training" else ""),
                "by_person": ", ".join(f"{person} {votes:,}" for person, votes in row["by_person"].items()),
                "assigned": ", ".join(row["assigned"]) or "everyone",
            }[key]
            for key in keys
        )
        for row in queues
    )
    columns = tuple(Column(key, headings.get(key, key.replace("_", " "))) for key in keys)
    return CommandResult(Table("queues", columns, rows), {"queues": queues})


def assign(
    queue: Annotated[str, typer.Argument(help="The queue.")],
    people: Annotated[list[str] | None, typer.Argument(metavar="PERSON...", help="Names of the people.")] = None,
    everyone: Annotated[bool, typer.Option("--everyone", help="Open it to everyone whose role allows it.")] = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Assign a queue to these people only; a queue that is not assigned is open to everyone whose role allows it.

    Labelers can only label: the other questions show predictions of models and are for reviewers and owners.
    """
    from regrade.core import InputError

    names = people or []
    if bool(names) == everyone:
        raise InputError("give either names of people, or --everyone")
    ledger = opened(workspace).ledger
    assigned_queue = ledger.queues.named(queue)
    ledger.queues.assign(assigned_queue, [ledger.people.named(name) for name in dict.fromkeys(names)])
    assignees = ledger.queues.assigned(assigned_queue)
    say(f"{queue} is for {', '.join(person.name for person in assignees) or 'everyone whose role allows it'}")
    if assignees and len(assignees) < assigned_queue.overlap:
        say(
            f"each item needs {amount(assigned_queue.overlap, 'vote')}, but only {len(assignees)} can vote: "
            f"change that with regrade review overlap {assigned_queue.name!r} {len(assignees)}"
        )


def overlap(
    queue: Annotated[str, typer.Argument(help="The queue.")],
    votes: Annotated[int, typer.Argument(min=1, help="Number of votes per item.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change, without changing it.")] = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Change the number of votes per item of a queue, while people work on it.

    This applies to items with missing votes and to items that are added later; complete items are unchanged. If the new
    number makes an item complete, it is decided if all votes agree, and is to be discussed otherwise.
    """
    ledger = opened(workspace).ledger
    change = ledger.queues.change_overlap(ledger.queues.named(queue), votes, dry_run=dry_run)
    say(("would be: " if dry_run else "") + change.in_words())


def _as_dict(ledger: Ledger, queue: Queue) -> dict[str, Any]:
    progress = ledger.queues.progress(queue)
    return {
        "queue": queue.name,
        "question": queue.question.name,
        "test_set": queue.test_set,
        "labels": queue.labels,
        "model": queue.model,
        "mode": queue.mode.value,
        "overlap": queue.overlap,
        "items": progress.items,
        "answered": progress.answered,
        "decided": progress.decided,
        "disputed": progress.disputed,
        "reported": progress.reported,
        "by_person": progress.by_person,
        "assigned": [person.name for person in ledger.queues.assigned(queue)],
    }
