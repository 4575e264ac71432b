"""regrade import: read predictions, checkpoints, labels, slices, decisions, mistake reviews and people from files."""

from __future__ import annotations

from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regrade.cli.column_options import GroupColumns, IdColumn, LabelColumn, NumbersOption, PredictionColumns, columns
from regrade.cli.import_preview import covered_examples, show_preview
from regrade.cli.options import JsonOption, TestSetOption, WorkspaceOption, opened, opened_labels, opened_models
from regrade.cli.output import report_import
from regrade.core import ScoreKind
from regrade.core.amounts import amount
from regrade.formats import LabelFormat, MistakeFormat, PeopleFormat, SliceFormat
from regrade.tables import Reading

if TYPE_CHECKING:
    from regrade.core import LabelSet, SliceSet

_FEW = 10  # list the names of at most this many models
_FEW_SLICES = 5

app = typer.Typer(no_args_is_help=True)


@app.command()
def predictions(
    file: Annotated[
        Path,
        typer.Argument(help="CSV, TSV, Parquet, JSON, JSON lines (also .gz), NPY, NPZ or torch file, or a folder."),
    ],
    test_set: TestSetOption,
    classes: Annotated[
        str | None,
        typer.Option(help="Class space: imagenet-1k, cifar-10, digits, ..., or your own TXT, CSV, JSON or folder."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="Name of the model, if the file contains one model (default: every column is a model)."),
    ] = None,
    prefix: Annotated[str, typer.Option(help="Prefix for model names that are read from columns.")] = "",
    id_column: IdColumn = "",
    label_column: LabelColumn = "",
    prediction_column: PredictionColumns = [],
    group: GroupColumns = [],
    class_numbers: NumbersOption = Reading.AUTO,
    split: Annotated[str, typer.Option(help="Split of a folder with a dataset of the Hugging Face library.")] = "",
    partial: Annotated[
        bool,
        typer.Option("--partial", help="The file has some of the images only: grade its models on these."),
    ] = False,
    reversed_models: Annotated[
        list[str],
        typer.Option(
            "--reversed",
            metavar="MODEL",
            help="The columns of this model have the best class last: read them in reverse. May be repeated.",
        ),
    ] = [],
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show how each column is understood, and the accuracy; store nothing."),
    ] = False,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Import predictions: the top classes (ids, names or indices) or all scores of every image.

    A file contains one model (--model NAME), or one model per column. If the test set is new, it is created from the
    ids and labels in the file. The import is idempotent.
    """
    models = opened_models(workspace)
    content = models.preview_predictions(
        file,
        test_set=test_set,
        classes=classes,
        model=model,
        prefix=prefix,
        columns=columns(id_column, label_column, group, class_numbers, prediction_column),
        split=split,
        partial=partial,
        reversed_models=reversed_models,
    )
    if dry_run:
        show_preview(content, as_json=as_json)
        return
    done = models.store_predictions(content)
    lines = []
    if done.new_test_set:
        space = done.test_set.class_space.name
        lines.append(f"new test set {test_set}: {amount(len(done.test_set), 'example')}, {space}")
    new, unchanged = done.models.new, done.models.unchanged
    names = f" ({', '.join(new)})" if 0 < len(new) <= _FEW else ""
    kept = "; ".join(dict.fromkeys(done.kept.values()))
    lines.append(f"on {test_set}: models imported: {len(new)}{names}, unchanged: {len(unchanged)}; per image: {kept}")
    if content.covered < len(done.test_set):
        lines.append(f"predictions on {content.coverage}: the models are graded on these")
    data = {
        "test_set": test_set,
        "new_test_set": done.new_test_set,
        "examples": len(done.test_set),
        "imported": list(new),
        "unchanged": list(unchanged),
        "kept": dict(done.kept),
        **covered_examples(content),
    }
    report_import(lines, done.notes, data, as_json=as_json)


@app.command()
def checkpoints(
    path: Annotated[
        Path,
        typer.Argument(
            help="Folder of NPY or NPZ files of shape (examples, classes) with seed and epoch in their paths, such as "
            "seed-0/epoch-003.npy; or one file of shape (seeds, epochs, examples, classes), seeds optional."
        ),
    ],
    test_set: TestSetOption,
    ensemble: Annotated[str, typer.Option(help="Name for the ensemble.")],
    kind: Annotated[ScoreKind, typer.Option(help="Kind of the scores; rows that do not fit are rejected.")],
    classes: Annotated[str | None, typer.Option(help="Class space of the scores (default: the test set's).")] = None,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Import the training checkpoints of an ensemble: the scores of every seed after every saved epoch.

    Rows are in the order of the test set, unless an NPZ file contains ids. Every seed needs the same epochs.
    """
    done = opened_models(workspace).import_checkpoints(
        path, test_set=test_set, ensemble=ensemble, kind=kind, classes=classes
    )
    stored = done.checkpoints
    class_count = amount(stored.classes, "class", "classes")
    line = (
        f"{'imported' if done.new else 'unchanged:'} {ensemble} on {test_set}: {amount(len(stored.members), 'seed')} x "
        f"{amount(len(stored.epochs), 'epoch')} x {amount(len(stored), 'image')} x {class_count}"
    )
    data = {
        "test_set": test_set,
        "ensemble": ensemble,
        "new": done.new,
        "seeds": list(stored.members),
        "epochs": list(stored.epochs),
        "examples": len(stored),
        "classes": stored.classes,
    }
    report_import([line], done.notes, data, as_json=as_json)


@app.command()
def labels(
    file: Annotated[Path, typer.Argument(help="File of labels.")],
    test_set: TestSetOption,
    name: Annotated[str, typer.Option(help="Name for the label set.")],
    form: Annotated[
        LabelFormat,
        typer.Option(
            "--format", help="plain: table with image, class and optionally state. real, multilabel-v3: published."
        ),
    ] = LabelFormat.PLAIN,
    complete: Annotated[
        bool, typer.Option("--complete", help="With plain: classes that are not listed are wrong, not novel.")
    ] = False,
    new_version: Annotated[
        bool, typer.Option("--new-version", help="Store a new version if the label set already exists.")
    ] = False,
    id_column: IdColumn = "",
    label_column: LabelColumn = "",
    class_numbers: NumbersOption = Reading.AUTO,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Import a label set: the classes that are correct, unclear or wrong for each image."""
    done = opened_labels(workspace).import_file(
        file,
        test_set=test_set,
        name=name,
        form=form,
        complete=complete,
        new_version=new_version,
        columns=columns(id_column, label_column, [], class_numbers),
    )
    label_set = done.labels
    states = _count_by_state(label_set)
    by_state = ", ".join(f"{number:,} {state}" for state, number in states.items())
    lines = [
        f"{'imported' if done.new else 'unchanged:'} {label_set.full_name} for {test_set}: "
        f"{amount(label_set.covered.sum(), 'image')}, {amount(len(label_set.classes), 'judgment')} ({by_state}), "
        f"{amount(label_set.problematic.sum(), 'problematic image')}"
    ]
    if done.slices is not None:
        lines.append(_describe_slices(done.slices))
    data = {
        "test_set": test_set,
        "labels": label_set.full_name,
        "new": done.new,
        "images": int(label_set.covered.sum()),
        "judgments": states,
        "problematic": int(label_set.problematic.sum()),
        "unlisted": label_set.unlisted.value,
        "slices": [] if done.slices is None else list(done.slices.names),
    }
    report_import(lines, done.notes, data, as_json=as_json)


def _count_by_state(labels: LabelSet) -> dict[str, int]:
    """The number of judgments per state."""
    from regrade.core import LabelState

    states = (LabelState.CORRECT, LabelState.UNCLEAR, LabelState.WRONG)
    return {state.name.lower(): int((labels.states == state).sum()) for state in states}


@app.command()
def slices(
    file: Annotated[Path, typer.Argument(help="File of slices.")],
    test_set: TestSetOption,
    name: Annotated[
        str, typer.Option(help="Name for the slices, used as --slice NAME, NAME:PART or NAME:COLUMN=VALUE.")
    ],
    form: Annotated[
        SliceFormat,
        typer.Option(
            "--format",
            help="list: the images of one slice, as lines, JSON list or id column of a table. table: an id column "
            "and group columns. imagenet-x: its JSON lines, one slice per factor.",
        ),
    ] = SliceFormat.TABLE,
    id_column: IdColumn = "",
    group: GroupColumns = [],
    chosen_hard: Annotated[
        bool,
        typer.Option(
            "--chosen-hard",
            help="The images were chosen because models fail on them: the report does not list them as a weak slice.",
        ),
    ] = False,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Import slices of a test set: subsets of its images, or group columns. The test set itself is not changed."""
    done = opened(workspace).testsets.import_slices(
        file,
        test_set=test_set,
        name=name,
        form=form,
        columns=columns(id_column, "", group, Reading.AUTO),
        chosen_hard=chosen_hard,
    )
    line = f"{'imported' if done.new else 'unchanged:'} {_describe_slices(done.slices)}"
    sizes = {slice_: int(inside.sum()) for slice_, inside in done.slices.subsets.items()}
    data = {
        "test_set": test_set,
        "name": name,
        "new": done.new,
        "subsets": sizes,
        "group_columns": list(done.slices.columns),
    }
    report_import([line], done.notes, data, as_json=as_json)


def _describe_slices(slices: SliceSet) -> str:
    if slices.name in slices.subsets:
        return f"slice {slices.name} of {slices.test_set}: {amount(slices.subsets[slices.name].sum(), 'image')}"
    kind = "slices" if slices.subsets else "group columns"
    names = ", ".join(slices.names) if len(slices.names) <= _FEW_SLICES else f"{slices.names[0]}, ..."
    inside = f", {amount(reduce(or_, slices.subsets.values()).sum(), 'image')}" if slices.subsets else ""
    return f"{slices.name} of {slices.test_set}: {len(slices.names)} {kind} ({names}){inside}"


@app.command()
def verdicts(
    file: Annotated[
        Path,
        typer.Argument(
            help="Table with image, class, verdict (correct, unclear, wrong, problematic) and optionally reason."
        ),
    ],
    test_set: TestSetOption,
    labels: Annotated[
        str, typer.Option("--labels", "-l", help="Label set for which the novel predictions were sampled.")
    ],
    correct: Annotated[
        str, typer.Option(help="Overwrite decisions that are already stored, for this reason.", metavar="REASON")
    ] = "",
    id_column: IdColumn = "",
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Import decisions on the sample drawn by `regrade labels sample`; rows without a decision are skipped."""
    done = opened_labels(workspace).import_decisions(
        file,
        test_set=test_set,
        labels=labels,
        correct=correct,
        columns=columns(id_column, "", [], Reading.AUTO),
    )
    data = {"test_set": test_set, "labels": labels, "new": done.new, "reasons": done.reasons}
    explained = f", {amount(done.reasons, 'reason')} added" if done.reasons else ""
    report_import([f"{amount(done.new, 'new decision')}{explained}"], done.notes, data, as_json=as_json)


@app.command()
def mistakes(
    file: Annotated[Path, typer.Argument(help="File of reviewed mistakes of a model.")],
    test_set: TestSetOption,
    model: Annotated[str, typer.Option(help="Model that made the mistakes; it does not need stored predictions.")],
    form: Annotated[
        MistakeFormat,
        typer.Option(
            "--format",
            help="table: columns image, prediction, category (fine-grained, out of vocabulary, spurious correlation, "
            "non-prototypical) and severity (major, minor, borderline). vasudevan2022: the published JSON.",
        ),
    ] = MistakeFormat.TABLE,
    id_column: IdColumn = "",
    class_numbers: NumbersOption = Reading.AUTO,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Import a review of the mistakes of one model: the category and severity of each mistake."""
    done = opened_models(workspace).import_mistakes(
        file,
        test_set=test_set,
        model=model,
        form=form,
        columns=columns(id_column, "", [], class_numbers),
    )
    review = done.review
    line = (
        f"{'imported' if done.new else 'unchanged:'} {amount(len(review), 'reviewed mistake')} of {model} on "
        f"{test_set}, {review.major.sum():,} of them major"
    )
    data = {
        "test_set": test_set,
        "model": model,
        "new": done.new,
        "mistakes": len(review),
        "major": int(review.major.sum()),
    }
    report_import([line], done.notes, data, as_json=as_json)


@app.command()
def people(
    file: Annotated[Path, typer.Argument(help="CSV, TSV, Parquet, JSON lines or JSON file.")],
    test_set: TestSetOption,
    form: Annotated[
        PeopleFormat,
        typer.Option(
            "--format",
            help="table: columns image, class, start, end (ISO times or seconds), and person for several people. "
            "shankar2020: JSON with label and extra_info per image, or per labeler and image.",
        ),
    ] = PeopleFormat.TABLE,
    name: Annotated[
        str | None,
        typer.Option(help="Name of the person if the file has none; with several people, import only this one."),
    ] = None,
    id_column: IdColumn = "",
    label_column: LabelColumn = "",
    class_numbers: NumbersOption = Reading.AUTO,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Import people's answers; people are graded like models, as person:NAME.

    Images that are not in the file are not counted; an empty class counts as wrong.
    """
    done = opened_models(workspace).import_people(
        file,
        test_set=test_set,
        form=form,
        name=name,
        columns=columns(id_column, label_column, [], class_numbers),
    )
    new, unchanged = done.people.new, done.people.unchanged
    counts = ", ".join(f"{person} ({amount(images, 'image')})" for person, images in done.images.items())
    timed = f"times of {amount(done.timed, 'answer')}" if done.timed else "no times"
    line = f"on {test_set}: people imported: {len(new)}, unchanged: {len(unchanged)}; {counts}; {timed}"
    skipped = (f"passed over {amount(done.passed_over, 'answer')} to images that are not in {test_set}",)
    notes = (*(skipped if done.passed_over else ()), *done.notes)
    data = {
        "test_set": test_set,
        "imported": list(new),
        "unchanged": list(unchanged),
        "images": dict(done.images),
        "timed": done.timed,
    }
    report_import([line], notes, data, as_json=as_json)
