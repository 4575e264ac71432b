"""Recht et al. 2019, Section 4: how the new ImageNet test sets were built, from their published tasks and revisions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from regrade.build.imagenetv2 import read_revisions, read_tasks
from regrade.build.revisions import Revision
from regrade.build.tasks import GridTask, TileRole
from regrade.core import FormatError
from regrade.replicate.cell import Cell, printed_figure

BUILD_FOLDER = "imagenetv2_build"
"""The folder of tasks and revisions, next to that of the predictions or in it."""

_printed = partial(printed_figure, "recht2019", "Section 4 text")
_ALL, _FULL = "fewest, all tasks", "fewest, tasks of 48 images"
_FULL_SIZE = 48
_SETTINGS = "settings of revisions"


def build_folder(data: Path) -> Path | None:
    """The folder of tasks and revisions for a folder of predictions; None if there is none."""
    places = (data / BUILD_FOLDER, data.resolve().parent / BUILD_FOLDER)
    return next((place for place in places if place.is_dir()), None)


def build_cells(folder: Path) -> Iterator[Cell]:
    """The figures about tasks, workers and sampling strategies."""
    yield from _task_cells(read_tasks(folder))
    revisions = [revision for own in read_revisions(folder).values() for revision in own]
    yield from _setting_cells(folder, revisions)


def _task_cells(tasks: Sequence[GridTask]) -> Iterator[Cell]:
    sizes = [len(task.tiles) for task in tasks]
    size = _printed("candidate images in an MTurk task", "number")
    yield Cell(size, next((float(size) for size, _ in Counter(sizes).most_common(1)), None), "most frequent number")
    yield Cell(size, min(map(float, sizes), default=None), _ALL)
    yield from _control_cells([task for task in tasks if len(task.tiles) == _FULL_SIZE], _FULL)
    yield from _control_cells(tasks, _ALL)
    controls: dict[str, set[str]] = {}
    for task in tasks:
        shown = (tile.image for tile in task.tiles if tile.role is TileRole.POSITIVE)
        controls.setdefault(task.class_id, set()).update(shown)
    figure = _printed("annotated validation images per class", "number at least")
    fewest = min((float(len(images)) for images in controls.values()), default=None)
    yield Cell(figure, fewest, "fewest positive controls in the tasks")


def _control_cells(tasks: Sequence[GridTask], basis: str) -> Iterator[Cell]:
    """The fewest controls of both kinds, and of each."""
    pairs = [(float(task.count(TileRole.POSITIVE)), float(task.count(TileRole.NEGATIVE))) for task in tasks]
    figure = _printed("original validation images in each MTurk task", "number at least")
    yield Cell(figure, min(map(sum, pairs), default=None), basis)
    figure = _printed("of these, from the same class", "number")
    yield Cell(figure, min((positive for positive, _ in pairs), default=None), basis)
    figure = _printed("of these, from a nearby class in WordNet", "number")
    yield Cell(figure, min((negative for _, negative in pairs), default=None), basis)


def _setting_cells(folder: Path, revisions: Sequence[Revision]) -> Iterator[Cell]:
    """Figures that are settings of the revisions."""
    setting = partial(_settings, folder, revisions)
    sets = {revision.name.rpartition("-")[0] for revision in revisions}
    yield Cell(_printed("test sets assembled for ImageNet", "number"), float(len(sets)))
    strategies = set(setting("sampling_function"))
    yield Cell(_printed("sampling strategies", "number"), float(len(strategies)), "sampling functions of revisions")
    threshold = _printed("Threshold0.7: selection frequency at least", "threshold")
    for figure, values in (
        (_printed("MTurk workers per task and image", "number at least"),
         setting("min_num_annotations", "min_num_annotations_candidates")),
        (_printed("annotated validation images per class", "number at least"), setting("min_num_val_images_per_wnid")),
        (threshold, setting("selection_frequency_threshold")),
    ):  # fmt: skip
        yield Cell(figure, float(min(values)), _SETTINGS)
    last = setting("wnid_thresholds")[-1]
    yield Cell(threshold, float(min(last.values())), "lowest of a class, last revision")


def _settings(folder: Path, revisions: Sequence[Revision], *names: str) -> list[Any]:
    """The values of a setting, under any of its names, in the revisions that have it."""
    values = [revision.settings[name] for revision in revisions for name in names if name in revision.settings]
    if not values:
        raise FormatError(f"{folder / 'revisions.json'}: no revision has the setting {names[0]}")
    return values
