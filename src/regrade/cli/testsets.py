"""regrade testsets: list, show, add, corrupt, check, catalog, download."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from enum import Enum, StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regrade.cli.command_result import CommandResult, shown
from regrade.cli.listing import ListErrors
from regrade.cli.options import (
    ClassNumbers,
    GroupColumns,
    IdColumn,
    JsonOption,
    LabelColumn,
    NumbersOption,
    WorkspaceOption,
    columns,
    opened,
)
from regrade.cli.output import download_bar, report_import, say, watching_images

if TYPE_CHECKING:
    from regrade.core import ClassMap
    from regrade.store import Store


class FolderLayout(StrEnum):
    """What the names of class folders are."""

    PROVEN = "proven"
    ID = "id"
    INDEX = "index"
    NAME = "name"
    FLAT = "flat"


_MANY_VALUES = 200  # of a group column: more are told, not listed

app = typer.Typer(help="The test sets of a workspace.", no_args_is_help=True)


@app.command("list")
@shown
def list_(workspace: WorkspaceOption = Path()) -> CommandResult:
    """List the test sets; one that is damaged is named and left out, and the exit code is then 1."""
    from regrade.core import Column, Table

    store, unreadable = opened(workspace).store, ListErrors()
    keys = ("test_set", "examples", "classes", "class_space", "groups", "images", "models", "labels", "digest")
    rows, notes = [], []
    for name in store.test_set_names():
        with unreadable.left_out():
            row, images_were_at = _listed(store, name)
            rows.append(row)
            if images_were_at is not None:
                notes.append(
                    f"the images of {name} are not at {images_were_at}: bring them back, or register their new place "
                    f"with regrade testsets add {name} PATH"
                )
    table = Table("test sets", tuple(Column(key, key.replace("_", " ")) for key in keys), tuple(rows), tuple(notes))
    return unreadable.shown_with(table, {"test_sets": table.records()})


def _listed(store: Store, name: str) -> tuple[tuple[str | int, ...], Path | None]:
    """One line of the list, and where images of the test set were registered that are missing now."""
    from regrade.testsets import images_are_missing

    test_set = store.test_set(name)
    source = store.images(test_set) if store.has_images(name) else None
    is_missing = source is not None and images_are_missing(source)
    images = "missing" if is_missing else "no" if source is None else "yes"
    sizes = len(test_set), len(set(test_set.labels[test_set.labeled]))
    groups, labels = ", ".join(test_set.groups), ", ".join(store.label_set_names(name))
    models = len(store.model_names(name))
    row = (name, *sizes, test_set.class_space.name, groups, images, models, labels, test_set.digest[:12])
    return row, source.path if source is not None and is_missing else None


@app.command("show")
@shown
def show_(
    name: Annotated[str, typer.Argument(help="The test set.")], workspace: WorkspaceOption = Path()
) -> CommandResult:
    """Show what a test set can be sliced by, with the sizes, and the class map that is stored with it.

    Slices are groups of classes, values of group columns, and what came later by `regrade import slices`.
    """
    from regrade.core import Column, Table

    store = opened(workspace).store
    found = store.test_set(name)
    sizes = {slice_: int(found.slice(slice_).sum()) for slice_ in (*found.class_space.groups, *found.subsets)}
    counts = {column: Counter(values) for column, values in found.group_columns.items()}
    listed = {column: values for column, values in counts.items() if len(values) <= _MANY_VALUES}
    sizes |= {f"{column}={value}": values[value] for column, values in listed.items() for value in sorted(values)}
    rows = tuple(sizes.items())
    title = f"slices of {name}: {len(found):,} examples in {len(set(found.labels[found.labeled])):,} classes"
    class_map = store.class_map(found)
    notes = [] if class_map is None else [_map_in_words(class_map)]
    notes += [f"{column}: {len(counts[column]):,} values, not listed" for column in counts if column not in listed]
    table = Table(title, (Column("slice", "slice"), Column("examples", "examples")), rows, tuple(notes))
    data: dict[str, Any] = {"test_set": name, "examples": len(found), "slices": table.records(), "class_map": None}
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
def add(
    name: Annotated[str, typer.Argument(help="What to call the test set; a name of the catalog brings its classes.")],
    path: Annotated[
        Path,
        typer.Argument(
            help="Images as a folder, table, tar shards, Parquet, NPY or NPZ; or a table of ids and labels."
        ),
    ],
    classes: Annotated[
        str | None, typer.Option(help="The class space: imagenet-1k, ..., or a CSV, JSON or folder of your own.")
    ] = None,
    layout: Annotated[
        FolderLayout, typer.Option(help="What the names of class folders are; proven: whichever alone fits them all.")
    ] = FolderLayout.PROVEN,
    id_column: IdColumn = "",
    label_column: LabelColumn = "",
    group: GroupColumns = [],
    class_numbers: NumbersOption = ClassNumbers.auto,
    class_map: Annotated[
        Path | None,
        typer.Option("--map", help="CSV or JSON from its classes to those that models predict; stored with the set."),
    ] = None,
    map_source: Annotated[str, typer.Option(help="The class space that --map maps from.")] = "imagenet-1k",
    as_json: JsonOption = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Add a test set, with or without images; the images stay where they are.

    A set that is labeled in other classes than models predict (objectnet, geode, dollarstreet, or your own with --map)
    keeps the map between them, and is graded by it.
    """
    done = opened(workspace).add_test_set(
        name,
        path,
        classes=classes,
        layout=layout.value,
        columns=columns(id_column, label_column, group, class_numbers),
        class_map=class_map,
        map_source=map_source,
    )
    labeled = int(done.test_set.labeled.sum())
    parts = [f"{len(done.test_set):,} examples" + ("" if labeled else " without labels")]
    parts.append(f"images by reader {done.source.reader}" if done.source else "without images")
    if done.missing:
        parts.append("none of those it lists is there" if done.source is None else f"{done.missing:,} of them missing")
    if done.class_map is not None:
        parts.append(_map_in_words(done.class_map))
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
def corrupt(
    test_set: Annotated[str, typer.Argument(help="A test set that has images, e.g. imagenet-val.")],
    name: Annotated[str, typer.Option(help="What to call the corrupted test set.")],
    corruption: Annotated[
        list[str], typer.Option(help="Only this corruption, e.g. gaussian_noise. May be repeated.")
    ] = [],
    severity: Annotated[list[int], typer.Option(help="Only this severity, 1 to 5. May be repeated.")] = [],
    images: Annotated[int | None, typer.Option(help="Only so many images, drawn at random.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the choice of images.")] = 0,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Make a test set of the 15 corruptions of ImageNet-C at 5 severities from one that has images.

    Images are corrupted as they are read, the same way each time; nothing is copied. Close to the released
    ImageNet-C, not equal: its frost is photographed, the one made here is drawn.
    """
    done = opened(workspace).corrupt(
        test_set, name=name, corruptions=corruption, severities=severity, images=images, seed=seed
    )
    groups = done.test_set.groups
    what = ", ".join(f"{len(set(groups[column])):,} {column}s" for column in ("image", "corruption"))
    say(f"{'added' if done.new else 'unchanged:'} test set {name}: {len(done.test_set):,} examples, {what}")


@app.command()
@shown
def check(
    name: Annotated[str, typer.Argument(help="The test set.")],
    sheet: Annotated[Path | None, typer.Option(help="Also write a contact sheet of some images, as PNG.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the choice of images for the sheet.")] = 0,
    workspace: WorkspaceOption = Path(),
) -> CommandResult:
    """Read every image of a test set: count, class balance, unreadable and repeated images.

    Exits with 3 if a image is unreadable or the count is not the catalog's.
    """
    here = opened(workspace)
    found = here.check_test_set(name, workers=os.cpu_count() or 1, progress=watching_images)
    if sheet is not None:
        from regrade.store import write_image

        write_image(sheet, here.contact_sheet(name, seed=seed))
        say(f"contact sheet: {sheet}")
    data = {"sound": found.sound, **dataclasses.asdict(found)}
    return CommandResult(found.table(), data, exit_code=0 if found.sound else 3)


@app.command()
@shown
def catalog(
    name: Annotated[str | None, typer.Argument(help="Only this one, in full.")] = None,
) -> CommandResult:
    """The test sets, label sets and slices of the field: what they are, how they are scored, where they come from."""
    from regrade.core import Column, Table
    from regrade.testsets import entry, names

    keys: tuple[str, ...]
    if name is None:
        keys = ("name", "kind", "examples", "class_space", "rule")
    else:
        keys = ("name", "title", "kind", "examples", "class_space", "rule", "files", "groups", "address", "terms",
                "license", "border", "recipe", "note")  # fmt: skip
    found = [entry(name)] if name else [entry(known) for known in names()]
    rows = tuple(tuple(_cell(getattr(one, key)) for key in keys) for one in found)
    table = Table("catalog", tuple(Column(key, key.replace("_", " ")) for key in keys), rows)
    return CommandResult(table, {"catalog": table.records()})


@app.command("download")
def download_(
    name: Annotated[str, typer.Argument(help="A name of the catalog.")],
    to: Annotated[Path, typer.Option(help="The folder to download to.")] = Path(),
) -> None:
    """Download a set's official files where its terms allow it, verified, going on where an earlier try broke off."""
    from regrade.core import InputError
    from regrade.testsets import download, entry

    found = entry(name)
    if not found.downloads:
        raise InputError(f"{name} cannot be downloaded directly ({found.terms}): get it from {found.address}")
    for item in found.downloads:
        with download_bar(item.url.rpartition("/")[2]) as progress:
            path = download(item, to, progress=progress)
        say(f"downloaded {path}")
    say(f"next: {found.recipe}")


def _map_in_words(class_map: ClassMap) -> str:
    mapped = f"{class_map.scorable.sum():,} of {len(class_map.target):,} classes"
    return f"class map from {class_map.source.name} onto {mapped}"


def _cell(value: object) -> str | int | None:
    if isinstance(value, tuple):
        return ", ".join(str(part) for part in value)
    return value.value if isinstance(value, Enum) else value  # type: ignore[return-value]
