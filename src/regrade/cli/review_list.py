"""regrade review list, assign and overlap: how far queues are, whose they are, and how many votes items need."""

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
    """List the queues: what they ask, how far they are, how many images people reported as unreadable, and who has
    answered how much.
    """
    from regrade.core import Column, Table

    ledger = opened(workspace).readable_ledger
    found = [_as_dict(ledger, queue) for queue in ledger.queues()]
    headings = {"overlap": "people an item", "disputed": "to discuss", "reported": "unreadable",
                "by_person": "votes by", "assigned": "for"}  # fmt: skip
    keys = ("queue", "question", "test_set", "items", "overlap", "answered", "decided", "disputed", "reported",
            "by_person", "assigned")  # fmt: skip
    rows = tuple(
        tuple(
            {
                **row,
                "question": row["question"] + (", training" if row["mode"] == "training" else ""),
                "by_person": ", ".join(f"{who} {votes:,}" for who, votes in row["by_person"].items()),
                "assigned": ", ".join(row["assigned"]) or "everyone",
            }[key]
            for key in keys
        )
        for row in found
    )
    columns = tuple(Column(key, headings.get(key, key.replace("_", " "))) for key in keys)
    return CommandResult(Table("queues", columns, rows), {"queues": found})


def assign(
    queue: Annotated[str, typer.Argument(help="The queue.")],
    people: Annotated[list[str] | None, typer.Argument(metavar="PERSON...", help="Whom it is for.")] = None,
    everyone: Annotated[bool, typer.Option("--everyone", help="Give it to everyone whose role allows it.")] = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Give a queue to these people and no one else; until then it is for everyone whose role allows its question.

    Labelers label; judging and reviewing mistakes, which show what models say, is for reviewers and owners.
    """
    from regrade.core import InputError

    names = people or []
    if bool(names) == everyone:
        raise InputError("say whom the queue is for: names of people, or --everyone")
    ledger = opened(workspace).ledger
    found = ledger.queue(queue)
    ledger.assign(found, [ledger.person(name) for name in dict.fromkeys(names)])
    given = ledger.assigned(found)
    say(f"{queue} is for {', '.join(one.name for one in given) or 'everyone whose role allows it'}")
    if given and len(given) < found.overlap:
        say(
            f"an item needs {amount(found.overlap, 'vote')}, and {len(given)} can give one: "
            f"regrade review overlap {found.name!r} {len(given)} changes that"
        )


def overlap(
    queue: Annotated[str, typer.Argument(help="The queue.")],
    votes: Annotated[int, typer.Argument(min=1, help="How many votes an item needs.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Change how many votes the items of a queue need, while people work on it.

    That holds for items that votes are missing on and for those that are added later; an item with all its votes keeps
    them. Where fewer votes are needed, items that have them are decided at once if all agree, or go to discussion.
    """
    ledger = opened(workspace).ledger
    change = ledger.change_overlap(ledger.queue(queue), votes, dry_run=dry_run)
    say(("would be: " if dry_run else "") + change.in_words())


def _as_dict(ledger: Ledger, queue: Queue) -> dict[str, Any]:
    progress = ledger.progress(queue)
    return {
        "queue": queue.name,
        "question": queue.question.value,
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
        "assigned": [one.name for one in ledger.assigned(queue)],
    }
