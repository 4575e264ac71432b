"""regrade build export: write tasks and tiles for an outside crowd platform."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from regrade.build.exchange import tasks_as_csv, tasks_as_json, tile_names
from regrade.build.files import BuildTasks, TaskCollection
from regrade.build.steps.tasks import build_name
from regrade.build.tasks import GridTask, Tile, TileRole
from regrade.build.tile_files import (
    TASKS_CSV,
    TASKS_JSON,
    TileResult,
    check_export_folder,
    write_tiles,
)
from regrade.build.tile_images import TileImages
from regrade.build.tiles import LARGEST, SMALLEST, TileFormat
from regrade.classes import definition
from regrade.core import (
    Column,
    InputError,
    Table,
    Tabular,
    UnknownName,
)
from regrade.core.amounts import amount
from regrade.neighbors import no_progress
from regrade.store import Store
from regrade.store.atomic import write_file
from regrade.store.locks import locked_without_waiting
from regrade.studies.leakage.signatures import ImageProgress
from regrade.studies.study import Study, StudyOptions, option

_DEFAULTS = TileFormat()
_LISTED = 3  # images and tasks that a note names
_LARGEST_DIFFERENCE = 0.05  # between the shares of candidates and controls that are enlarged


@dataclass(frozen=True)
class ExportOptions(StudyOptions):
    """Where the files go, the format of the tiles, and which tasks are exported."""

    build: str = build_name()
    folder: Path = option(
        "Folder for tasks.json, tasks.csv and tiles: new, empty, or with an earlier export of the build, whose tiles "
        "are kept.",
        is_argument=True,
        metavar="FOLDER",
    )
    size: int = option("Width and height of every tile in pixels.", _DEFAULTS.size, minimum=SMALLEST, maximum=LARGEST)
    quality: int = option("JPEG quality of every tile.", _DEFAULTS.quality, minimum=1, maximum=100)
    tasks: Sequence[str] = option(
        "Export only this task. May be repeated (default: all).", (), names=("--task",), metavar="ID"
    )
    image_progress: ImageProgress = field(default=no_progress, compare=False, repr=False)


@dataclass(frozen=True, repr=False)
class ExportReport(Tabular):
    """What was exported; ``unreadable`` lists images with reasons, and ``left_out`` the tasks that show them."""

    build: str
    folder: str
    tasks: int
    tiles: int
    new: int
    size: int
    quality: int
    unreadable: tuple[tuple[str, str], ...]
    left_out: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def table(self) -> Table:
        """One row."""
        columns = (
            Column("tasks", "tasks"),
            Column("tiles", "tiles"),
            Column("new", "new tiles"),
            Column("left_out", "tasks left out"),
        )
        row = (self.tasks, self.tiles, self.new, len(self.left_out))
        title = f"{self.build}: exported to {self.folder}, tiles of {self.size} pixels, JPEG quality {self.quality}"
        return Table(title, columns, (row,), (*_unreadable_note(self.unreadable, self.left_out), *self.notes))


@dataclass(frozen=True)
class _NamedTile:
    """A tile of a task by its public name."""

    name: str
    task: GridTask
    tile: Tile


def run(store: Store, options: ExportOptions) -> ExportReport:
    """Write the tiles, then the list of tasks; tasks with an image that cannot be read are left out."""
    tile_format = TileFormat(options.size, options.quality)
    stored = TaskCollection(store.root).read(options.build)
    key = stored.digest
    chosen = _chosen_tasks(stored, options.tasks)
    check_export_folder(options.folder, {name for task in stored.tasks for name in tile_names(task, key=key)})
    images = TileImages(store, stored)
    named = list(_named_tiles(chosen, key))
    with locked_without_waiting(options.folder):
        writing = write_tiles(options.folder, {row.name: images.of(row.tile) for row in named}, tile_format)
        results = {result.name: result for result in options.image_progress(writing, len(named))}
        failed = [row for row in named if results[row.name].error]
        unreadable = sorted({row.tile.image: results[row.name].error for row in failed}.items())
        left_out = {row.task.id for row in failed}
        exported = [task for task in chosen if task.id not in left_out]
        if not exported:
            raise InputError(f"no task can be exported: {_listed(unreadable)}")
        for name, content_of in ((TASKS_JSON, tasks_as_json), (TASKS_CSV, tasks_as_csv)):
            write_file(options.folder / name, content_of(exported, images.pool.class_space, _definition, key=key))
    return ExportReport(
        options.build,
        str(options.folder),
        len(exported),
        sum(len(task.tiles) for task in exported),
        sum(result.is_new for result in results.values()),
        tile_format.size,
        tile_format.quality,
        tuple(unreadable),
        tuple(task.id for task in chosen if task.id in left_out),
        (*_identical_note(named, results), *_enlarged_note(named, results)),
    )


def _chosen_tasks(stored: BuildTasks, task_ids: Sequence[str]) -> list[GridTask]:
    by_id = {task.id: task for task in stored.tasks}
    for task_id in task_ids:
        if task_id not in by_id:
            raise UnknownName(f"task of {stored.build}", task_id, by_id)
    return [task for task in stored.tasks if not task_ids or task.id in task_ids]


def _named_tiles(tasks: Iterable[GridTask], key: str) -> Iterator[_NamedTile]:
    for task in tasks:
        for name, tile in zip(tile_names(task, key=key), task.tiles, strict=True):
            yield _NamedTile(name, task, tile)


def _definition(class_id: str) -> str:
    return definition(class_id) or ""


def _unreadable_note(unreadable: Sequence[tuple[str, str]], left_out: Sequence[str]) -> tuple[str, ...]:
    if not unreadable:
        return ()
    tasks = ", ".join(left_out[:_LISTED]) + ", ..." * (len(left_out) > _LISTED)
    return (
        f"{_listed(unreadable)}; {amount(len(left_out), 'task')} left out, with all their images: {tasks}; repair or "
        "replace the images and export again, or no worker sees these tasks",
    )


def _listed(unreadable: Sequence[tuple[str, str]]) -> str:
    """The number of images that cannot be read, and the first of them with reasons."""
    shown = ", ".join(f"{image} ({reason})" for image, reason in unreadable[:_LISTED])
    return f"{amount(len(unreadable), 'image')} cannot be read: {shown}" + ", ..." * (len(unreadable) > _LISTED)


def _identical_note(named: Sequence[_NamedTile], results: dict[str, TileResult]) -> tuple[str, ...]:
    """A note if candidates have the pixels of a control: their answers say nothing about new images."""
    controls, identical = {}, {}
    for row in named:
        if row.tile.role is not TileRole.CANDIDATE and results[row.name].pixels:
            controls[results[row.name].pixels] = row.tile.image
    for row in named:
        if row.tile.role is TileRole.CANDIDATE and (control := controls.get(results[row.name].pixels)):
            identical[row.tile.image] = control
    if not identical:
        return ()
    shown = ", ".join(f"{image} (as {control})" for image, control in sorted(identical.items())[:_LISTED])
    more = ", ..." * (len(identical) > _LISTED)
    return (f"{amount(len(identical), 'candidate')} with the pixels of a control, to be taken out: {shown}{more}",)


def _enlarged_note(named: Sequence[_NamedTile], results: dict[str, TileResult]) -> tuple[str, ...]:
    """A note if low resolution tells controls from candidates."""
    enlarged: dict[bool, list[bool]] = {True: [], False: []}
    for row in named:
        if not results[row.name].error:
            enlarged[row.tile.role is TileRole.CANDIDATE].append(results[row.name].is_enlarged)
    if not all(enlarged.values()):
        return ()
    candidates, controls = (sum(values) / len(values) for values in (enlarged[True], enlarged[False]))
    if abs(candidates - controls) <= _LARGEST_DIFFERENCE:
        return ()
    return (
        f"smaller than a tile, and enlarged: {candidates:.0%} of the candidates, {controls:.0%} of the controls; "
        "workers may tell them apart by sharpness: choose a smaller --size",
    )


BUILD_EXPORT = Study(
    name="export",
    question="What does a crowd platform need to show the tasks?",
    summary="Write tasks and tiles for an outside crowd platform; no file tells which tile is a control.",
    options=ExportOptions,
    result=ExportReport,
    run=run,
)
