"""regrade import: predictions, checkpoints, labels, slices, verdicts, reviews of mistakes and people from files."""

from __future__ import annotations

from enum import StrEnum
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regrade.cli.options import (
    ClassNumbers,
    GroupColumns,
    IdColumn,
    JsonOption,
    LabelColumn,
    NumbersOption,
    TestSetOption,
    WorkspaceOption,
    columns,
    opened,
)
from regrade.cli.output import report_import
from regrade.core.amounts import amount

if TYPE_CHECKING:
    from regrade.core import LabelSet, SliceSet

_FEW = 10  # models whose names are worth a line
_FEW_SLICES = 5

app = typer.Typer(
    help="Bring in predictions, checkpoints, labels, slices, verdicts and people from files.", no_args_is_help=True
)


class ScoreKindName(StrEnum):
    """What scores are."""

    logits = "logits"
    probabilities = "probabilities"
    log_probabilities = "log-probabilities"


class Format(StrEnum):
    """The forms in which labels come."""

    plain = "plain"
    real = "real"
    multilabel_v3 = "multilabel-v3"


class Slices(StrEnum):
    """The forms in which slices come."""

    table = "table"
    list = "list"
    imagenet_x = "imagenet-x"


class People(StrEnum):
    """The forms in which the answers of people come."""

    table = "table"
    shankar2020 = "shankar2020"


class Mistakes(StrEnum):
    """The forms in which reviews of mistakes come."""

    table = "table"
    vasudevan2022 = "vasudevan2022"


@app.command()
def predictions(
    file: Annotated[Path, typer.Argument(help="CSV, TSV, Parquet, JSON lines, NPY or NPZ.")],
    test_set: TestSetOption,
    classes: Annotated[
        str | None,
        typer.Option(help="The class space: imagenet-1k, cifar-10, digits, ..., or a CSV, JSON or folder of your own."),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="The model, if the file holds one; without it every column is a model.")
    ] = None,
    prefix: Annotated[str, typer.Option(help="Put this before the names of models that come from columns.")] = "",
    id_column: IdColumn = "",
    label_column: LabelColumn = "",
    group: GroupColumns = [],
    class_numbers: NumbersOption = ClassNumbers.auto,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Import predictions: per image the best classes (ids or indices) or all scores.

    One model a file (--model NAME), or one column a model. A test set that is new is made from the file's
    own ids and labels. Importing the same content again changes nothing.
    """
    done = opened(workspace).import_predictions(
        file,
        test_set=test_set,
        classes=classes,
        model=model,
        prefix=prefix,
        columns=columns(id_column, label_column, group, class_numbers),
    )
    lines = []
    if done.new_test_set:
        space = done.test_set.class_space.name
        lines.append(f"new test set {test_set}: {amount(len(done.test_set), 'example')}, {space}")
    new, unchanged = done.models.new, done.models.unchanged
    named = f" ({', '.join(new)})" if 0 < len(new) <= _FEW else ""
    kept = "; ".join(dict.fromkeys(done.kept.values()))
    lines.append(f"on {test_set}: models imported: {len(new)}{named}, unchanged: {len(unchanged)}; per image: {kept}")
    data = {
        "test_set": test_set,
        "new_test_set": done.new_test_set,
        "examples": len(done.test_set),
        "imported": list(new),
        "unchanged": list(unchanged),
        "kept": dict(done.kept),
    }
    report_import(lines, done.notes, data, as_json=as_json)


@app.command()
def checkpoints(
    path: Annotated[
        Path,
        typer.Argument(
            help="A folder of NPY or NPZ files (examples, classes) whose paths state seed and epoch, such as "
            "seed-0/epoch-003.npy; or one file (seeds, epochs, examples, classes), the seeds left out if there is one."
        ),
    ],
    test_set: TestSetOption,
    ensemble: Annotated[str, typer.Option(help="What to call the ensemble.")],
    kind: Annotated[ScoreKindName, typer.Option(help="What the scores are; rows that cannot be that are refused.")],
    classes: Annotated[
        str | None, typer.Option(help="The class space of the scores, if it is not the test set's.")
    ] = None,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Import the scores of an ensemble while it was trained: of every seed after every epoch that was kept.

    Rows are in the order of the test set, unless an NPZ brings ids. Every seed needs the same epochs.
    """
    done = opened(workspace).import_checkpoints(
        path, test_set=test_set, ensemble=ensemble, kind=kind.value, classes=classes
    )
    found = done.checkpoints
    classes_told = amount(found.classes, "class", "classes")
    line = (
        f"{'imported' if done.new else 'unchanged:'} {ensemble} on {test_set}: {amount(len(found.members), 'seed')} x "
        f"{amount(len(found.epochs), 'epoch')} x {amount(len(found), 'image')} x {classes_told}"
    )
    data = {
        "test_set": test_set,
        "ensemble": ensemble,
        "new": done.new,
        "seeds": list(found.members),
        "epochs": list(found.epochs),
        "examples": len(found),
        "classes": found.classes,
    }
    report_import([line], done.notes, data, as_json=as_json)


@app.command()
def labels(
    file: Annotated[Path, typer.Argument(help="The labels.")],
    test_set: TestSetOption,
    name: Annotated[str, typer.Option(help="What to call the label set.")],
    form: Annotated[
        Format,
        typer.Option("--format", help="real, multilabel-v3, or plain: a table with image, class and optionally state."),
    ] = Format.plain,
    complete: Annotated[
        bool, typer.Option("--complete", help="Plain only: classes that are not named are wrong, not novel.")
    ] = False,
    new_version: Annotated[
        bool, typer.Option("--new-version", help="Keep what is stored under this name, as an older version.")
    ] = False,
    id_column: IdColumn = "",
    label_column: LabelColumn = "",
    class_numbers: NumbersOption = ClassNumbers.auto,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Import labels: for each image the classes that are correct, unclear or wrong."""
    done = opened(workspace).import_labels(
        file,
        test_set=test_set,
        name=name,
        form=form.value,
        complete=complete,
        new_version=new_version,
        columns=columns(id_column, label_column, [], class_numbers),
    )
    found = done.labels
    states = _states_of(found)
    by_state = ", ".join(f"{number:,} {state}" for state, number in states.items())
    lines = [
        f"{'imported' if done.new else 'unchanged:'} {found.full_name} for {test_set}: "
        f"{amount(found.covered.sum(), 'image')}, {amount(len(found.classes), 'judgment')} ({by_state}), "
        f"{amount(found.problematic.sum(), 'problematic image')}"
    ]
    if done.slices is not None:
        lines.append(_slices_in_words(done.slices))
    data = {
        "test_set": test_set,
        "labels": found.full_name,
        "new": done.new,
        "images": int(found.covered.sum()),
        "judgments": states,
        "problematic": int(found.problematic.sum()),
        "unlisted": found.unlisted.value,
        "slices": [] if done.slices is None else list(done.slices.names),
    }
    report_import(lines, done.notes, data, as_json=as_json)


def _states_of(labels: LabelSet) -> dict[str, int]:
    """How many judgments say what."""
    from regrade.core import LabelState

    states = (LabelState.CORRECT, LabelState.UNCLEAR, LabelState.WRONG)
    return {state.name.lower(): int((labels.states == state).sum()) for state in states}


@app.command()
def slices(
    file: Annotated[Path, typer.Argument(help="The slices.")],
    test_set: TestSetOption,
    name: Annotated[str, typer.Option(help="What to call them: --slice NAME, NAME:PART or NAME:COLUMN=VALUE.")],
    form: Annotated[
        Slices,
        typer.Option(
            "--format",
            help="list: images that are one slice, one a line, as a JSON list or a table's id column. table: an id "
            "column and group columns. imagenet-x: its JSON lines, a slice a factor.",
        ),
    ] = Slices.table,
    id_column: IdColumn = "",
    group: GroupColumns = [],
    chosen_hard: Annotated[
        bool,
        typer.Option(
            "--chosen-hard",
            help="The images were chosen because models find them hard: the report does not call them the weakest.",
        ),
    ] = False,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Import slices of a test set: subsets of its images, or group columns; the test set itself stays as it is."""
    done = opened(workspace).import_slices(
        file,
        test_set=test_set,
        name=name,
        form=form.value,
        columns=columns(id_column, "", group, ClassNumbers.auto),
        chosen_hard=chosen_hard,
    )
    line = f"{'imported' if done.new else 'unchanged:'} {_slices_in_words(done.slices)}"
    sizes = {slice_: int(inside.sum()) for slice_, inside in done.slices.subsets.items()}
    data = {
        "test_set": test_set,
        "name": name,
        "new": done.new,
        "subsets": sizes,
        "group_columns": list(done.slices.columns),
    }
    report_import([line], done.notes, data, as_json=as_json)


def _slices_in_words(slices: SliceSet) -> str:
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
            help="A table with image, class, verdict (correct, unclear, wrong, problematic) and perhaps reason."
        ),
    ],
    test_set: TestSetOption,
    labels: Annotated[str, typer.Option("--labels", "-l", help="The label set whose novel predictions were judged.")],
    correct: Annotated[
        str, typer.Option(help="Correct verdicts that are stored already; give the reason.", metavar="REASON")
    ] = "",
    id_column: IdColumn = "",
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Import people's verdicts on the sample that `regrade labels sample` drew; rows without one are passed over."""
    done = opened(workspace).import_verdicts(
        file,
        test_set=test_set,
        labels=labels,
        correct=correct,
        columns=columns(id_column, "", [], ClassNumbers.auto),
    )
    data = {"test_set": test_set, "labels": labels, "new": done.new, "reasons": done.reasons}
    explained = f", {amount(done.reasons, 'reason')} added" if done.reasons else ""
    report_import([f"{amount(done.new, 'new verdict')}{explained}"], done.notes, data, as_json=as_json)


@app.command()
def mistakes(
    file: Annotated[Path, typer.Argument(help="What people said of a model's mistakes.")],
    test_set: TestSetOption,
    model: Annotated[str, typer.Option(help="The model whose mistakes they are; it need not have predictions here.")],
    form: Annotated[
        Mistakes,
        typer.Option(
            "--format",
            help="table: image, prediction, category (fine-grained, out of vocabulary, spurious correlation, "
            "non-prototypical) and severity (major, minor, borderline). vasudevan2022: the published JSON.",
        ),
    ] = Mistakes.table,
    id_column: IdColumn = "",
    class_numbers: NumbersOption = ClassNumbers.auto,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Import a review of one model's mistakes: for each its category and how grave it is."""
    done = opened(workspace).import_mistakes(
        file,
        test_set=test_set,
        model=model,
        form=form.value,
        columns=columns(id_column, "", [], class_numbers),
    )
    found = done.review
    line = (
        f"{'imported' if done.new else 'unchanged:'} {amount(len(found), 'reviewed mistake')} of {model} on "
        f"{test_set}, {found.major.sum():,} of them major"
    )
    data = {
        "test_set": test_set,
        "model": model,
        "new": done.new,
        "mistakes": len(found),
        "major": int(found.major.sum()),
    }
    report_import([line], done.notes, data, as_json=as_json)


@app.command()
def people(
    file: Annotated[Path, typer.Argument(help="CSV, TSV, Parquet, JSON lines or JSON.")],
    test_set: TestSetOption,
    form: Annotated[
        People,
        typer.Option(
            "--format",
            help="table: image, class, start, end (ISO times or seconds), and person if there are several. "
            "shankar2020: JSON from image, or from labeler and image, to label and extra_info.",
        ),
    ] = People.table,
    name: Annotated[
        str | None, typer.Option(help="The person, if the file names none; of several, the only one to be taken.")
    ] = None,
    id_column: IdColumn = "",
    label_column: LabelColumn = "",
    class_numbers: NumbersOption = ClassNumbers.auto,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Import the answers of people, who become rows beside the models: person:NAME.

    An image that a person was not asked about counts for nothing; one with an empty class is wrong.
    """
    done = opened(workspace).import_people(
        file,
        test_set=test_set,
        form=form.value,
        name=name,
        columns=columns(id_column, label_column, [], class_numbers),
    )
    new, unchanged = done.people.new, done.people.unchanged
    told = ", ".join(f"{person} ({amount(images, 'image')})" for person, images in done.images.items())
    timed = f"times of {amount(done.timed, 'answer')}" if done.timed else "no times"
    line = f"on {test_set}: people imported: {len(new)}, unchanged: {len(unchanged)}; {told}; {timed}"
    passed = (f"passed over {amount(done.passed_over, 'answer')} to images that are not in {test_set}",)
    notes = (*(passed if done.passed_over else ()), *done.notes)
    data = {
        "test_set": test_set,
        "imported": list(new),
        "unchanged": list(unchanged),
        "images": dict(done.images),
        "timed": done.timed,
    }
    report_import([line], notes, data, as_json=as_json)
