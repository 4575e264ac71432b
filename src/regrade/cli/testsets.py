"""regrade testsets: list, show, add, corrupt, check, remove and download test sets; show the catalog."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regrade.cli.column_options import GroupColumns, IdColumn, LabelColumn, NumbersOption, columns
from regrade.cli.command_result import CommandResult, ListErrors, shown
from regrade.cli.completion import complete_test_sets
from regrade.cli.options import JsonOption, WorkspaceOption, opened, opened_store
from regrade.cli.output import download_bar, report_import, say, watching_images
from regrade.cli.removed import YesOption, confirm_removal, report_removal, report_renaming
from regrade.tables import Reading
from regrade.testsets import Layout, download, entry, images_are_missing, names

if TYPE_CHECKING:
    from regrade.core import ClassMap
    from regrade.store import Store


_MANY_VALUES = 200  # group columns with more values are not listed

_KEYS = {"command": "recipe"}  # keys of the output that differ from the field of `CatalogEntry`

app = typer.Typer(no_args_is_help=True)


@app.command("list")
@shown
def list_(workspace: WorkspaceOption = Path()) -> CommandResult:
    """List the test sets; damaged ones are skipped and reported, and the exit code is then 1."""
    from regrade.core import Column, Table

    store, errors = opened_store(workspace), ListErrors()
    keys = ("test_set", "examples", "classes", "class_space", "groups", "images", "models", "labels", "digest")
    rows, notes = [], []
    for name in sorted({*store.test_sets.names(), *store.test_sets.lost_names()}):
        with errors.skip_unreadable():
            row, missing_path = _row_of(store, name)
            rows.append(row)
            if missing_path is not None:
                notes.append(
                    f"the images of {name} are no longer at {missing_path}: restore them, or register their new path "
                    f"with regrade testsets add {name} PATH"
                )
    details = ("classes", "groups", "images", "digest")
    columns = tuple(Column(key, key.replace("_", " "), detail=key in details) for key in keys)
    table = Table("test sets", columns, tuple(rows), tuple(notes))
    return errors.result_with(table, {"test_sets": table.records()})


def _row_of(store: Store, name: str) -> tuple[tuple[str | int, ...], Path | None]:
    """The row of a test set in the list, and the registered path of its images if they are missing."""
    test_set = store.test_set(name)
    source = store.images.read(test_set) if store.images.has(name) else None
    is_missing = source is not None and images_are_missing(source)
    images = "missing" if is_missing else "no" if source is None else "yes"
    sizes = len(test_set), len(set(test_set.labels[test_set.labeled]))
    groups, labels = ", ".join(test_set.groups), ", ".join(store.labels.names(name))
    models = len(store.predictions.model_names(name))
    row = (name, *sizes, test_set.class_space.name, groups, images, models, labels, test_set.digest[:12])
    return row, source.path if source is not None and is_missing else None


@app.command("show")
@shown
def show_(
    name: Annotated[str, typer.Argument(help="Name of the test set.")], workspace: WorkspaceOption = Path()
) -> CommandResult:
    """Show the slices of a test set with their sizes, and the class map that is stored with it.

    Slices are class groups, values of group columns, and slices added by `regrade import slices`.
    """
    from regrade.core import Column, Table

    store = opened_store(workspace)
    test_set = store.test_set(name)
    sizes = {slice_: int(test_set.slice(slice_).sum()) for slice_ in (*test_set.class_space.groups, *test_set.subsets)}
    counts = {column: Counter(values) for column, values in test_set.group_columns.items()}
    listed = {column: values for column, values in counts.items() if len(values) <= _MANY_VALUES}
    sizes |= {f"{column}={value}": values[value] for column, values in listed.items() for value in sorted(values)}
    rows = tuple(sizes.items())
    classes = len(set(test_set.labels[test_set.labeled]))
    title = f"slices of {name}: {len(test_set):,} examples in {classes:,} classes"
    class_map = store.class_maps.read(test_set)
    training_set = store.training_set_of(name)
    notes = [] if class_map is None else [_describe_map(class_map)]
    notes += [] if training_set is None else [f"training set: {training_set}"]
    notes += [f"{column}: {len(counts[column]):,} values, not listed" for column in counts if column not in listed]
    table = Table(title, (Column("slice", "slice"), Column("examples", "examples")), rows, tuple(notes))
    data: dict[str, Any] = {"test_set": name, "examples": len(test_set), "slices": table.records(), "class_map": None}
    if training_set is not None:
        data["training_set"] = training_set
    if class_map is not None:
        data["class_map"] = {
            "source": class_map.source.name,
            "target": class_map.target.name,
            "rule": class_map.rule.value,
            "classes": len(class_map.target),
            "mapped": int(class_map.scorable.sum()),
        }
    return CommandResult(table, data)


@app.command()
@shown
def ladder(
    name: Annotated[str, typer.Argument(help="Name of the held-back test set.", autocompletion=complete_test_sets)],
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Show the submissions to the ladder of a held-back test set, and what the next one needs; see `regrade gate`."""
    status = opened(workspace).testsets.ladder(name)
    return CommandResult(status.table(), status.as_dict())


@app.command()
def add(
    name: Annotated[
        str, typer.Argument(help="Name for the test set; with a name from the catalog, its class space is known.")
    ],
    path: Annotated[
        Path,
        typer.Argument(
            help="Images as a folder, table of paths, tar shards, Parquet, NPY or NPZ; or a table of ids and labels."
        ),
    ],
    classes: Annotated[
        str | None, typer.Option(help="Class space: imagenet-1k, ..., or your own TXT, CSV, JSON or folder.")
    ] = None,
    layout: Annotated[
        Layout,
        typer.Option(help="How class folders are named; proven: detect the only naming that fits all of them."),
    ] = Layout.PROVEN,
    id_column: IdColumn = "",
    label_column: LabelColumn = "",
    group: GroupColumns = [],
    class_numbers: NumbersOption = Reading.AUTO,
    class_map: Annotated[
        Path | None,
        typer.Option(
            "--map",
            help="CSV or JSON map from its classes to the classes that models predict; stored with the test set.",
        ),
    ] = None,
    map_source: Annotated[str, typer.Option(help="Class space of the predictions in --map.")] = "imagenet-1k",
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Add a test set, with or without images; the images are not copied.

    Test sets with other classes than models predict (objectnet, geode, dollarstreet, or your own with --map) are stored
    with a class map, which is used for grading.
    """
    done = opened(workspace).testsets.add(
        name,
        path,
        classes=classes,
        layout=layout,
        columns=columns(id_column, label_column, group, class_numbers),
        class_map=class_map,
        map_source=map_source,
    )
    labeled = int(done.test_set.labeled.sum())
    parts = [f"{len(done.test_set):,} examples" + ("" if labeled else " without labels")]
    parts.append(f"images by reader {done.source.reader}" if done.source else "without images")
    if done.missing:
        parts.append("all listed images are missing" if done.source is None else f"{done.missing:,} of them missing")
    if done.class_map is not None:
        parts.append(_describe_map(done.class_map))
    line = f"{'added' if done.new else 'unchanged:'} test set {name}: {', '.join(parts)}"
    data = {
        "test_set": name,
        "new": done.new,
        "examples": len(done.test_set),
        "labeled": labeled,
        "groups": list(done.test_set.groups),
        "reader": done.source.reader if done.source else None,
        "missing": done.missing,
    }
    report_import([line], done.notes, data, as_json=as_json)


@app.command()
def training_set(
    name: Annotated[str, typer.Argument(help="Name of the test set.", autocompletion=complete_test_sets)],
    training: Annotated[
        str | None,
        typer.Argument(help="Name of the set on which its models are trained.", autocompletion=complete_test_sets),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Forget the registered one; no image is removed.")] = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Register the training set of a test set: the pages of the browser app then show its images as references.

    Add it as a test set of its own first. It needs labels in the same classes; another one replaces it.
    """
    from regrade.core import InputError

    test_sets = opened(workspace).testsets
    if remove == (training is not None):
        raise InputError(f"name the training set of {name}, or give --remove, and not both")
    if training is None:
        say(f"removed: {test_sets.remove_training_set(name)} is no longer the training set of {name}")
        return
    done = test_sets.register_training_set(name, training)
    say(f"{'registered' if done.new else 'unchanged'}: {training} is the training set of {name}")


@app.command()
def remove(
    name: Annotated[str, typer.Argument(help="Name of the test set.", autocompletion=complete_test_sets)],
    yes: YesOption = False,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Remove a test set with its predictions, labels and slices; `regrade removed restore` puts them back.

    The images themselves are not touched. A test set that a queue of the ledger or a build uses is not removed.
    """
    test_sets = opened(workspace).testsets
    plan = test_sets.plan_removal(name)
    confirm_removal(plan, yes=yes)
    report_removal(test_sets.remove(name, expected=plan), plan, as_json=as_json)


@app.command()
def rename(
    old: Annotated[str, typer.Argument(help="Name of the test set.", autocompletion=complete_test_sets)],
    new: Annotated[str, typer.Argument(help="New name.")],
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Rename a test set with its predictions, labels and slices. Renaming it back undoes it.

    A test set that a queue of the ledger or a build uses is not renamed.
    """
    done = opened(workspace).testsets.rename(old, new)
    report_renaming(done, f"renamed test set {old} to {new}", as_json=as_json)


@app.command()
def corrupt(
    test_set: Annotated[str, typer.Argument(help="Test set with images, e.g. imagenet-val.")],
    name: Annotated[str, typer.Option(help="Name for the corrupted test set.")],
    corruption: Annotated[
        list[str],
        typer.Option(help="Use only this corruption, e.g. gaussian_noise. May be repeated (default: all 15)."),
    ] = [],
    severity: Annotated[
        list[int], typer.Option(help="Use only this severity, 1 to 5. May be repeated (default: all 5).")
    ] = [],
    images: Annotated[
        int | None, typer.Option(help="Use a random sample of N images (default: all).", metavar="N")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the sample.")] = 0,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Create a test set with the 15 corruptions of ImageNet-C at 5 severities.

    Images are corrupted when they are read, deterministically; nothing is copied. The result is close to the released
    ImageNet-C but not equal: its frost uses photographs, while here it is generated.
    """
    done = opened(workspace).testsets.corrupt(
        test_set, name=name, corruptions=corruption, severities=severity, images=images, seed=seed
    )
    groups = done.test_set.groups
    counts = ", ".join(f"{len(set(groups[column])):,} {column}s" for column in ("image", "corruption"))
    say(f"{'added' if done.new else 'unchanged:'} test set {name}: {len(done.test_set):,} examples, {counts}")


@app.command()
@shown
def check(
    name: Annotated[str, typer.Argument(help="Name of the test set.")],
    sheet: Annotated[Path | None, typer.Option(help="Also write a contact sheet of random images, as PNG.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the contact sheet.")] = 0,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Read every image of a test set: check the count, class balance, unreadable and repeated images.

    Exits with 3 if an image is unreadable, or if the count differs from the catalog.
    """
    ws = opened(workspace)
    result = ws.testsets.check(name, workers=os.cpu_count() or 1, progress=watching_images)
    if sheet is not None:
        from regrade.store import write_image

        write_image(sheet, ws.testsets.contact_sheet(name, seed=seed))
        say(f"contact sheet: {sheet}")
    data = {"sound": result.sound, **dataclasses.asdict(result)}
    return CommandResult(result.table(), data, exit_code=0 if result.sound else 3)


@app.command()
@shown
def catalog(
    name: Annotated[
        str | None, typer.Argument(help="Show all fields of this entry (default: list all entries).")
    ] = None,
) -> CommandResult:
    """Show published test sets, label sets and slices: content, scoring rule, source and terms of use."""
    from regrade.core import Column, Table

    keys: tuple[str, ...]
    if name is None:
        keys = ("name", "kind", "examples", "class_space", "rule")
    else:
        keys = ("name", "title", "kind", "examples", "class_space", "rule", "files", "groups", "address", "terms",
                "license", "border", "command", "note")  # fmt: skip
    entries = [entry(name)] if name else [entry(listed) for listed in names()]
    rows = tuple(tuple(_cell(getattr(item, key)) for key in keys) for item in entries)
    columns = tuple(Column(_KEYS.get(key, key), key.replace("_", " ")) for key in keys)
    table = Table("catalog", columns, rows)
    return CommandResult(table, {"catalog": table.records()})


@app.command("download")
def download_(
    name: Annotated[str, typer.Argument(help="Name in the catalog.")],
    to: Annotated[Path, typer.Option(help="Folder to download to.")] = Path(),
) -> None:
    """Download the official files of a test set if its terms allow it; verified, and resumed if interrupted."""
    from regrade.core import InputError

    listed = entry(name)
    if not listed.downloads:
        raise InputError(f"{name} cannot be downloaded directly ({listed.terms}): get it from {listed.address}")
    for item in listed.downloads:
        with download_bar(item.url.rpartition("/")[2]) as progress:
            path = download(item, to, progress=progress)
        say(f"downloaded {path}")
    say(f"next: {listed.command}")


def _describe_map(class_map: ClassMap) -> str:
    mapped = f"{class_map.scorable.sum():,} of {len(class_map.target):,} classes"
    return f"class map from {class_map.source.name} onto {mapped}"


def _cell(value: object) -> str | int | None:
    if isinstance(value, tuple):
        return ", ".join(str(part) for part in value)
    return value.value if isinstance(value, Enum) else value  # type: ignore[return-value]
