"""regrade labels: create, list, compare, export, rename and remove label sets; list and sample novel predictions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regrade.cli.command_result import CommandResult, ListErrors, shown
from regrade.cli.completion import complete_labels
from regrade.cli.lazy_group import LazyGroup, lazy_study
from regrade.cli.options import JsonOption, TestSetOption, WorkspaceOption, opened, opened_store
from regrade.cli.output import say, watching
from regrade.cli.removed import YesOption, confirm_removal, report_removal, report_renaming
from regrade.core import StratifyBy
from regrade.core.amounts import amount
from regrade.formats import LabelFormat

if TYPE_CHECKING:
    from regrade.core import Table, TestSet
    from regrade.workspace import DrawnReview

app = typer.Typer(cls=LazyGroup, no_args_is_help=True)
app.command("diff")(
    lazy_study("label_change", "Show the changes between two versions of a label set, and their effect on every model.")
)

LabelSet = Annotated[
    str,
    typer.Option(
        "--labels", "-l", help="Label set: NAME (newest version) or NAME@VERSION.", autocompletion=complete_labels
    ),
]
app.command("audit")(
    lazy_study(
        "label_audit",
        "Show the audits of the labels that all models predict: the share that is wrong, unclear or problematic.",
    )
)
_SHOWN = 20  # rows of a long list on a terminal


@app.command()
def export(
    labels: Annotated[str, typer.Argument(help="Label set: NAME (newest version) or NAME@VERSION.")],
    file: Annotated[Path, typer.Argument(help="File to write: .csv, .json or .parquet.")],
    test_set: TestSetOption,
    form: Annotated[
        LabelFormat,
        typer.Option(
            "--format",
            metavar="<plain|multilabel-v3>",
            help="plain: columns image, class, state, reason of problematic images, author and time of decisions. "
            "multilabel-v3: the published JSON format, without authors and times.",
        ),
    ] = LabelFormat.PLAIN,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Write a label set to a file; `regrade import labels` reads the same labels from it."""
    from regrade.core import Unlisted

    done = opened(workspace).labels.export(labels, file, test_set=test_set, form=form)
    label_set = done.labels
    hint = "; import it with --complete" if label_set.unlisted is Unlisted.WRONG else ""
    say(
        f"{file}: {label_set.full_name}, {amount(label_set.covered.sum(), 'image')}, "
        f"{amount(len(label_set.classes), 'judgment')}, {amount(label_set.problematic.sum(), 'problematic image')}, "
        f"{done.with_authors:,} with author and time{hint}"
    )


@app.command()
def create(
    test_set: TestSetOption,
    name: Annotated[str, typer.Option(help="Name for the label set.")] = "own",
    workspace: WorkspaceOption = Path(),
) -> None:
    """Create a label set from the original labels, to start a review.

    The original label of each image is correct and all other classes are unjudged: `regrade review queue` then asks
    people about every other class that a model predicts.
    """
    done = opened(workspace).labels.create(test_set, name=name)
    what = "created" if done.new else "unchanged"
    say(f"{what} {done.labels.full_name} of {test_set}: {amount(int(done.labels.covered.sum()), 'image')}")


@app.command("list")
@shown
def list_(
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """List the label sets with their versions; damaged ones are skipped and reported, and the exit code is then 1."""
    from regrade.core import Column, Table

    store, errors = opened_store(workspace), ListErrors()
    keys = ("test_set", "labels", "images", "judgments", "problematic", "origin", "digest")
    rows = []
    for test_set in store.test_sets.names():
        for full_name in store.labels.names(test_set):
            with errors.skip_unreadable():
                labels = store.labels.read(store.test_set(test_set), full_name)
                counts = int(labels.covered.sum()), len(labels.classes), int(labels.problematic.sum())
                rows.append((test_set, full_name, *counts, labels.origin, labels.digest[:12]))
    columns = tuple(Column(key, key.replace("_", " "), detail=key in ("judgments", "digest")) for key in keys)
    table = Table("label sets", columns, tuple(rows))
    return errors.result_with(table, {"label_sets": table.records()})


@app.command()
def remove(
    name: Annotated[
        str,
        typer.Argument(
            help="Label set: NAME@VERSION (the newest), or NAME (all versions).", autocompletion=complete_labels
        ),
    ],
    test_set: TestSetOption,
    yes: YesOption = False,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Remove a label set, or its newest version, with its review; `regrade removed restore` puts it back.

    Labels that a queue of the ledger asks about are not removed.
    """
    labels = opened(workspace).labels
    plan = labels.plan_removal(name, test_set=test_set)
    confirm_removal(plan, yes=yes)
    report_removal(labels.remove(name, test_set=test_set, expected=plan), plan, as_json=as_json)


@app.command()
def rename(
    old: Annotated[
        str, typer.Argument(help="Name of the label set, without a version.", autocompletion=complete_labels)
    ],
    new: Annotated[str, typer.Argument(help="New name.")],
    test_set: TestSetOption,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Rename all versions of a label set, with their reviews. Renaming it back undoes it.

    Labels that a queue of the ledger asks about are not renamed.
    """
    done = opened(workspace).labels.rename(old, new, test_set=test_set)
    report_renaming(done, f"renamed labels {old} to {new} on {test_set}", as_json=as_json)


@app.command()
@shown
def novel(
    test_set: TestSetOption,
    labels: LabelSet,
    model: Annotated[list[str], typer.Option(help="Use only this model. May be repeated (default: all models).")] = [],
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """List novel predictions: those that nobody has judged for their image, the most frequent first."""
    table = opened(workspace).labels.novel(test_set, labels=labels, models=model, progress=watching).table()
    return CommandResult(table, {"test_set": test_set, "labels": labels, "novel": table.records()}, head=_SHOWN)


@app.command()
def sample(
    test_set: TestSetOption,
    labels: LabelSet,
    out: Annotated[Path, typer.Option(help="CSV file to write, with empty columns for verdict and reason.")],
    size: Annotated[int, typer.Option(help="Number of predictions to draw.")] = 0,
    again: Annotated[
        bool,
        typer.Option(
            "--again", help="Draw nothing new; write the predictions again that were drawn and are not judged yet."
        ),
    ] = False,
    by: Annotated[
        StratifyBy | None,
        typer.Option(
            help="Stratify by the number of models that agree (default), by their highest score, or not at all."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Draw a random sample of novel predictions for people to judge.

    Fill in the column verdict from the top, stop anywhere, and import the file with `regrade import verdicts`;
    `regrade grade` then estimates the accuracy that judging all novel predictions would give. A decision is correct,
    unclear, wrong, or problematic if the image should not be scored (wrong original label, drawing, edited,
    inappropriate): then mark all rows of the image, with the reason. Later calls continue the same random order.
    """
    from regrade.core import AlreadyStored, InputError
    from regrade.display import to_csv
    from regrade.store import write_file

    if out.exists():
        raise AlreadyStored(f"{out} exists and may contain decisions: choose another --out, or remove it first")
    if not out.parent.is_dir():
        raise InputError(f"the folder {out.parent} of {out.name} does not exist: create it first")
    ws = opened(workspace)
    if again:
        drawn = ws.labels.drawn_sample(test_set, labels=labels)
    else:
        drawn = ws.labels.draw_sample(test_set, labels=labels, size=size, by=by, seed=seed)
    write_file(out, to_csv(_review_table(drawn, ws.store.test_set(test_set))))
    say(
        f"{len(drawn.rows):,} to judge; drawn so far: {drawn.frame.drawn:,} of "
        f"{amount(len(drawn.frame), 'novel prediction')}. Fill in the column verdict of {out}, from the top"
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
