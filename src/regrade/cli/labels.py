"""regrade labels: list them, compare versions, find what no one has judged, draw a sample of it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.labels_diff import diff
from regrade.cli.labels_export import export
from regrade.cli.listing import ListErrors
from regrade.cli.options import TestSetOption, WorkspaceOption, opened
from regrade.cli.output import say, watching
from regrade.core.amounts import amount

if TYPE_CHECKING:
    from regrade.core import Table, TestSet
    from regrade.workspace import DrawnReview

app = typer.Typer(help="Labels, and predictions that no one has judged yet.", no_args_is_help=True)
app.command("diff")(diff)
app.command("export")(export)
LabelSet = Annotated[str, typer.Option("--labels", "-l", help="The label set: NAME or NAME@VERSION.")]
_SHOWN = 20  # lines of a long list on the terminal


class By(StrEnum):
    """What the strata of a sample are."""

    votes = "votes"
    score = "score"
    nothing = "nothing"


@app.command()
def create(
    test_set: TestSetOption,
    name: Annotated[str, typer.Option(help="What to call the label set.")] = "own",
    workspace: WorkspaceOption = Path(),
) -> None:
    """Make a label set from the images' own labels, to begin a review with.

    Each image's own label is correct, and no other class is judged yet: `regrade review queue` asks people about every
    class that a model predicts instead.
    """
    done = opened(workspace).create_labels(test_set, name=name)
    what = "created" if done.new else "unchanged"
    say(f"{what} {done.labels.full_name} of {test_set}: {amount(int(done.labels.covered.sum()), 'image')}")


@app.command("list")
@shown
def list_(
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """List the label sets with their versions; a damaged one is named and left out, and the exit code is then 1."""
    from regrade.core import Column, Table

    store, unreadable = opened(workspace).store, ListErrors()
    keys = ("test_set", "labels", "images", "judgments", "problematic", "origin", "digest")
    rows = []
    for test_set in store.test_set_names():
        for full_name in store.label_set_names(test_set):
            with unreadable.left_out():
                labels = store.label_set(store.test_set(test_set), full_name)
                counts = int(labels.covered.sum()), len(labels.classes), int(labels.problematic.sum())
                rows.append((test_set, full_name, *counts, labels.origin, labels.digest[:12]))
    table = Table("label sets", tuple(Column(key, key.replace("_", " ")) for key in keys), tuple(rows))
    return unreadable.shown_with(table, {"label_sets": table.records()})


@app.command()
@shown
def novel(
    test_set: TestSetOption,
    labels: LabelSet,
    model: Annotated[list[str], typer.Option(help="Only these models. May be repeated.")] = [],
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """List every prediction that no one has judged for its image, those of most models first."""
    table = opened(workspace).novel(test_set, labels=labels, models=model, progress=watching).table()
    return CommandResult(table, {"test_set": test_set, "labels": labels, "novel": table.records()}, head=_SHOWN)


@app.command()
def sample(
    test_set: TestSetOption,
    labels: LabelSet,
    out: Annotated[Path, typer.Option(help="The CSV file to write, with empty columns for verdicts and reasons.")],
    size: Annotated[int, typer.Option(help="How many predictions to draw.")] = 0,
    again: Annotated[
        bool, typer.Option("--again", help="Draw nothing; write again what was drawn and is not judged yet.")
    ] = False,
    by: Annotated[
        By | None, typer.Option(help="Strata: how many models agree (the default), their highest score, or none.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the random choice.")] = 0,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Draw novel predictions at random for people to judge.

    Fill in the verdicts from the top, stop wherever you like, and bring them back with `regrade import verdicts`;
    `regrade grade` then estimates what all of them would give. A verdict is correct, unclear or wrong, or problematic
    where the image itself should not be scored (its own label is wrong, a drawing, edited, inappropriate): say so on
    each of its rows, and why in the column reason. Later calls draw further ones of the same random order.
    """
    from regrade.core import AlreadyStored, InputError
    from regrade.report import to_csv
    from regrade.store import write_file

    if out.exists():
        raise AlreadyStored(f"{out} exists, and may hold verdicts: choose another --out, or remove it first")
    if not out.parent.is_dir():
        raise InputError(f"there is no folder {out.parent} for {out.name}")
    here = opened(workspace)
    if again:
        drawn = here.drawn_review(test_set, labels=labels)
    else:
        drawn = here.draw_review(test_set, labels=labels, size=size, by=by.value if by else None, seed=seed)
    write_file(out, to_csv(_review_table(drawn, here.store.test_set(test_set))))
    say(
        f"{len(drawn.rows):,} to judge; drawn so far: {drawn.frame.drawn:,} of "
        f"{amount(len(drawn.frame), 'novel prediction')}. Give the verdicts in {out}, from the top"
    )


def _review_table(drawn: DrawnReview, test_set: TestSet) -> Table:
    from regrade.core import Column, Table

    space, frame = test_set.class_space, drawn.frame
    keys = ("image", "class", "name", "verdict", "reason")
    rows = tuple(
        (test_set.ids[frame.examples[row]], space.ids[frame.classes[row]], space.names[frame.classes[row]], "", "")
        for row in drawn.rows
    )
    return Table("to be judged", tuple(Column(key, key) for key in keys), rows)
