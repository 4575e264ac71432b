"""regrade review: fill queues for people to review, follow and publish their results; the ledger as a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.completion import complete_test_sets
from regrade.cli.labels import LabelSet
from regrade.cli.lazy_group import LazyGroup, lazy_study
from regrade.cli.options import JsonOption, TestSetOption, WorkspaceOption, opened
from regrade.cli.output import report_import, say, watching, watching_images
from regrade.core import StratifyBy
from regrade.core.amounts import amount
from regrade.core.panel import Mode
from regrade.core.test_set import SLICE_NAMES

if TYPE_CHECKING:
    from regrade.ledger import Ledger, Queue
    from regrade.workspace import QueueResult
    from regrade.workspace.review import Review

app = typer.Typer(cls=LazyGroup, no_args_is_help=True)

Name = Annotated[str | None, typer.Option(help="Name of the queue; items are added to an existing queue.")]
Overlap = Annotated[
    int | None,
    typer.Option(help="Number of votes per item (default: one per reviewer, at most 3)."),
]
Seed = Annotated[int, typer.Option(min=0, help="Random seed.")]

_NOUNS = {
    "person": ("person", "people"), "queue": ("queue", ""), "assignment": ("assignment", ""), "item": ("item", ""),
    "vote": ("vote", ""), "comment": ("comment", ""), "decision": ("decision", ""),
    "report": ("report of an unreadable image", "reports of unreadable images"),
    "guide": ("edit of the guide", "edits of the guide"),
    "worker_event": ("event of a worker", "events of workers"), "proposal": ("proposal", ""),
}  # fmt: skip

_ENTRIES = "votes, comments, decisions and edits"


@app.command()
@shown
def queue(
    test_set: TestSetOption,
    labels: LabelSet,
    model: Annotated[list[str], typer.Option(help="Only these models. May be repeated.")] = [],
    size: Annotated[int | None, typer.Option(help="Size of a random sample (default: all novel predictions).")] = None,
    by: Annotated[
        StratifyBy | None,
        typer.Option(help="Strata of the sample: number of models that agree (default), their score, or none."),
    ] = None,
    seed: Seed = 0,
    name: Name = None,
    overlap: Overlap = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Queue novel predictions, which are not judged yet and not in another queue: are they correct?

    Run it again after adding models: only new predictions are added. --size draws a random sample, from which the
    results for all novel predictions are estimated, in the order of `regrade labels sample`; further calls continue it.
    """
    review = opened(workspace).review
    return _shown(
        review,
        review.queue_novel(
            test_set, labels=labels, models=model, size=size, by=by, seed=seed, name=name,
            overlap=overlap, progress=watching,
        ),
    )  # fmt: skip


@app.command()
@shown
def people(
    test_set: TestSetOption,
    labels: LabelSet,
    person: Annotated[list[str], typer.Option(help="Only these people. May be repeated.")] = [],
    seed: Seed = 0,
    name: Name = None,
    overlap: Overlap = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Queue novel answers of people, mixed with predictions of models, for a blind review: are they correct?

    Every image has an answer of a person and a prediction of a random model, and reviewers cannot tell them apart.
    """
    review = opened(workspace).review
    return _shown(
        review,
        review.queue_people(
            test_set, labels=labels, people=person, seed=seed, name=name, overlap=overlap, progress=watching
        ),
    )


@app.command()
@shown
def mistakes(
    test_set: TestSetOption,
    labels: LabelSet,
    model: Annotated[str, typer.Option(help="The model.")],
    slice: Annotated[
        str | None,
        typer.Option(help=f"Only the mistakes on this slice: {SLICE_NAMES}."),
    ] = None,
    name: Name = None,
    overlap: Overlap = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Queue the remaining mistakes of a model: what category are they, and how severe?

    Unclear and collapsed classes are not mistakes; novel predictions have to be judged first. A prediction that people
    categorized for another model is not asked again: publishing the queue reuses it. After adding a model, --slice
    imagenet-m queues only what is open on a slice of major mistakes.
    """
    review = opened(workspace).review
    return _shown(
        review,
        review.queue_mistakes(test_set, labels=labels, model=model, slice=slice, name=name, overlap=overlap),
    )


@app.command()
@shown
def audit(
    test_set: TestSetOption,
    labels: LabelSet,
    size: Annotated[int, typer.Option(min=1, help="Number of labels to draw.")],
    model: Annotated[list[str], typer.Option(help="Only these models. May be repeated.")] = [],
    seed: Seed = 0,
    name: Name = None,
    overlap: Overlap = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Queue labels that all models agree with, drawn at random: are they correct?

    No queue of predictions shows these images. From the published decisions, `regrade labels audit` estimates how many
    of these labels are wrong; the labels that were judged are corrected. Further calls draw more labels.
    """
    review = opened(workspace).review
    return _shown(
        review,
        review.queue_audit(
            test_set, labels=labels, size=size, models=model, seed=seed, name=name, overlap=overlap, progress=watching
        ),
    )


@app.command()
@shown
def label(
    test_set: Annotated[
        list[str],
        typer.Option(
            "--test-set",
            "-t",
            help="Name of the test set. May be repeated: images of several sets are drawn and mixed.",
            autocompletion=complete_test_sets,
        ),
    ],
    size: Annotated[int | None, typer.Option(help="Number of images to draw from each set (default: all).")] = None,
    per_class: Annotated[
        int | None, typer.Option(metavar="N", help="Draw N images of each class instead, at random.")
    ] = None,
    family: Annotated[
        str | None,
        typer.Option(help="Only images labeled with a class of a family: dogs, insects, terrier, a WordNet id."),
    ] = None,
    mode: Annotated[
        Mode,
        typer.Option(help="training: people are shown the correct classes, and their answers are not counted."),
    ] = Mode.EXAMINATION,
    seed: Seed = 0,
    assign: Annotated[
        list[str], typer.Option(metavar="PERSON", help="Only for this person (default: everyone). May be repeated.")
    ] = [],
    name: Name = None,
    overlap: Annotated[int | None, typer.Option(help="Number of people per image (default: everyone).")] = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Queue images drawn at random: which class are they? Further calls draw more images.

    An examination leaves out images that its people saw in training, or judged with labels or predictions.
    """
    review = opened(workspace).review
    return _shown(
        review,
        review.queue_labels(
            test_set, size=size, per_class=per_class, family=family, mode=mode, seed=seed, people=assign, name=name,
            overlap=overlap, progress=watching_images,
        ),
    )  # fmt: skip


@app.command()
@shown
def pairs(
    test_set: TestSetOption,
    against: Annotated[
        str | None, typer.Option(metavar="TEST_SET", help="The other test set (default: search within the test set).")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(help="Distances, separated by commas, as for `regrade study leakage` (default: all of images)."),
    ] = None,
    near: Annotated[
        list[str],
        typer.Option(
            metavar="DISTANCE=THRESHOLD", help="Override a distance threshold, e.g. phash=6. May be repeated."
        ),
    ] = [],
    most: Annotated[int, typer.Option(min=1, help="Maximum number of near duplicates per image.")] = 10,
    size: Annotated[int, typer.Option(help="Images are scaled to this many pixels per side, a multiple of 32.")] = 256,
    model: Annotated[str | None, typer.Option(help="Also compare the features of this model.")] = None,
    name: Name = None,
    overlap: Overlap = None,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Queue near duplicates of a test set: are they duplicates?

    The pairs are those of `regrade study leakage`, which counts the published decisions; equal pixels need none.
    """
    from regrade.studies.leakage.study import parse_distances, parse_thresholds

    review = opened(workspace).review
    return _shown(
        review,
        review.queue_pairs(
            test_set, against=against, by=parse_distances(by), near=parse_thresholds(near), most=most, size=size,
            model=model, name=name, overlap=overlap, progress=watching_images,
        ),
    )  # fmt: skip


def _shown(review: Review, result: QueueResult) -> CommandResult:
    """The command's result; the app recognizes copies of the queue's images by the hashes that are stored first."""
    review.fill_contents(progress=watching_images)
    return CommandResult(result.table(), result.as_dict())


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


@app.command()
def export(
    file: Annotated[Path, typer.Argument(help="The file to write: .csv, .json or .parquet.")],
    workspace: WorkspaceOption = Path(),
) -> None:
    """Export the ledger to a file: people, queues, votes, comments, decisions and the guide, with authors and times.

    Passwords, invitations and other secrets are not exported.
    """
    say(f"{file}: {_rows_in_words(opened(workspace).review.export(file))}")


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="The file that `regrade review export` wrote.")],
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Import an exported ledger into this one, completely or not at all; rows that exist already are skipped."""
    result = opened(workspace).review.import_file(file)
    line = f"{file}: {_rows_in_words(result.rows)}; {amount(result.new_votes, 'new vote')}"
    report_import([line], (), {"rows": dict(result.rows), "new_votes": result.new_votes}, as_json=as_json)


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(help="The file to write.")],
    workspace: WorkspaceOption = Path(),
) -> None:
    """Back up a ledger in SQLite, including accounts, in a consistent state, while people go on voting.

    `regrade review restore` restores the backup. Use pg_dump for a ledger in PostgreSQL.
    """
    opened(workspace).review.back_up(file)
    say(f"{file}: backup of the ledger, readable by you only")


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(help="The file that `regrade review backup` wrote.")],
    older: Annotated[
        bool, typer.Option("--older", help="Accept a backup without some of the votes that were already published.")
    ] = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Restore a ledger in SQLite from a backup; the existing ledger is kept under a new name.

    Stop `regrade serve` first. The backup is checked before anything is moved. Use pg_restore for a ledger in
    PostgreSQL.
    """
    result = opened(workspace).review.restore(file, older=older)
    entries = amount(result.links, "vote, comment, decision or edit", _ENTRIES)
    say(f"{result.path}: restored from {file}, with {entries}")
    if result.kept is not None:
        say(f"the previous ledger is kept as {result.kept}, with its -wal and -shm files if it had any")
    if result.is_older:
        say("the published files contain votes that this ledger does not have: publish its queues again")
    say("next steps: run `regrade verify`, and `regrade review list` to see which votes must be cast again")


@app.command()
def verify(workspace: WorkspaceOption = Path()) -> None:
    """Check the ledger: its database, the triggers that protect it, and the hash chain over votes and decisions."""
    from regrade.core import StoreError

    problems = opened(workspace).review.problems()
    if problems:
        raise StoreError(f"{amount(len(problems), 'problem')} in the ledger: {'; '.join(problems)}")
    say("the ledger is valid: no vote, comment, decision or guide entry was changed, removed or added outside of it")


def _rows_in_words(counts: Mapping[str, int]) -> str:
    return ", ".join(amount(count, *_NOUNS[kind]) for kind, count in counts.items()) or "an empty ledger"
