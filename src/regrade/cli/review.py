"""regrade review: fill queues for people to review, follow and publish their results; the ledger as a file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.lazy_group import LazyGroup, lazy_study
from regrade.cli.options import WorkspaceOption, opened
from regrade.cli.output import say
from regrade.cli.review_ledger import backup, export, import_, restore, verify
from regrade.cli.review_queues import audit, label, mistakes, pairs, people, queue
from regrade.core.amounts import amount

if TYPE_CHECKING:
    from regrade.ledger import Ledger, Queue

app = typer.Typer(cls=LazyGroup, no_args_is_help=True)

for command in (queue, people, mistakes, audit, label, pairs):
    app.command()(command)


@app.command("list")
@shown
def list_(
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """List the queues with their question, progress, unreadable images, and number of votes by person."""
    from regrade.core import Column, Table

    ledger = opened(workspace).review.readable_ledger
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
    details = ("overlap", "reported", "by_person", "assigned")
    columns = tuple(Column(key, headings.get(key, key.replace("_", " ")), detail=key in details) for key in keys)
    return CommandResult(Table("queues", columns, rows), {"queues": queues})


@app.command()
def assign(
    queue: Annotated[str, typer.Argument(help="The queue.")],
    people: Annotated[list[str] | None, typer.Argument(metavar="PERSON...", help="Names of the people.")] = None,
    everyone: Annotated[bool, typer.Option("--everyone", help="Open it to everyone whose role allows it.")] = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Assign a queue to these people only; a queue that is not assigned is open to everyone whose role allows it.

    Labelers can only label: the other questions show predictions of models and are for reviewers and owners. An
    examination is not for people who saw some of its images in training, or judged them with labels or predictions.
    """
    from regrade.core import InputError

    names = people or []
    if bool(names) == everyone:
        raise InputError("give either names of people, or --everyone")
    review = opened(workspace).review
    assignees = review.assign(queue, names)
    assigned_queue = review.ledger.queues.named(queue)
    say(f"{queue} is for {', '.join(assignees) or 'everyone whose role allows it'}")
    if assignees and len(assignees) < assigned_queue.overlap:
        say(
            f"each item needs {amount(assigned_queue.overlap, 'vote')}, but only {len(assignees)} can vote: "
            f"change that with regrade review overlap {assigned_queue.name!r} {len(assignees)}"
        )


@app.command()
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
        "test_set": " and ".join(ledger.items.test_sets(queue)),
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


app.command("agreement")(
    lazy_study(
        "agreement", "Measure agreement between reviewers: equal answers, Fleiss' kappa and Krippendorff's alpha."
    )
)


@app.command()
def publish(
    queue: Annotated[str, typer.Argument(help="The queue.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change, without changing it.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Publish the current decisions of a queue as files that studies read. Idempotent: repeat it after more decisions.

    Judged classes become a new version of the label set, or decisions of its review if they were drawn by `regrade
    labels sample`; mistakes become the review of the model's mistakes; labels from examinations become the answers of
    people; pairs become decisions that `regrade build` and `regrade study leakage` read. On a terminal the command
    shows what would change and how many items are undecided, and asks for confirmation.
    """
    opened_workspace = opened(workspace)
    if sys.stdin.isatty() and not (yes or dry_run or as_json):
        preview = opened_workspace.review.publish(queue, dry_run=True)
        say(preview.in_words())
        if not preview.changes:
            return
        typer.confirm("Publish this?", abort=True, err=True)
    result = opened_workspace.review.publish(queue, dry_run=dry_run)
    if as_json:
        json.dump(result.as_dict(), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        say(("would be " if dry_run and result.changes else "") + result.in_words())


app.command()(export)
app.command("import")(import_)
for command in (backup, restore, verify):
    app.command()(command)
