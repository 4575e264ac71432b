"""Tasks and answers in files for an outside crowd platform: opaque tile names out, selections in."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from regrade.build.frequencies import Assignment
from regrade.build.tasks import GridTask
from regrade.core import ClassSpace, FormatError, InputError
from regrade.core.strict_json import parse_json
from regrade.tables import errors_with_path, read_table, texts

_DIGITS = 16
_ANSWER_COLUMNS = ("task", "worker", "selected")


def tile_name(task: GridTask, image: str) -> str:
    """The public name of an image in a task: it tells neither the image nor whether it is a control."""
    return hashlib.sha256(f"{task.id}/{image}".encode()).hexdigest()[:_DIGITS]


def tasks_as_json(tasks: Iterable[GridTask], space: ClassSpace, define: Callable[[str], str]) -> str:
    """The tasks as a JSON list: task, class name, definition, and the names of the tiles in their order."""
    rows = [
        {
            "task": task.id,
            "class": space.names[space.index_of[task.class_id]],
            "definition": define(task.class_id),
            "tiles": [tile_name(task, tile.image) for tile in task.tiles],
        }
        for task in tasks
    ]
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def tasks_as_csv(tasks: Iterable[GridTask], space: ClassSpace, define: Callable[[str], str]) -> str:
    """The same as CSV, one row per task; the names of the tiles are separated by spaces."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["task", "class", "definition", "tiles"])
    for row in json.loads(tasks_as_json(tasks, space, define)):
        writer.writerow([row["task"], row["class"], row["definition"], " ".join(row["tiles"])])
    return file.getvalue()


def read_answers(path: Path, tasks: Sequence[GridTask]) -> list[Assignment]:
    """Read answers: columns task, worker, selected (tile names, as a list or separated by spaces) and seconds.

    Raises for unknown tasks and tiles, and for times that are not positive.
    """
    images = {task.id: {tile_name(task, tile.image): tile.image for tile in task.tiles} for task in tasks}
    table = read_table(path)
    with errors_with_path(path):
        if lacking := [name for name in _ANSWER_COLUMNS if name not in table.column_names]:
            raise FormatError(f"no column {lacking[0]}: expected {', '.join(_ANSWER_COLUMNS)} and perhaps seconds")
        seconds = table["seconds"].to_pylist() if "seconds" in table.column_names else [None] * table.num_rows
        rows = zip(texts(table, "task"), texts(table, "worker"), table["selected"].to_pylist(), seconds, strict=True)
        return [
            Assignment(task, _worker(worker), _selected(task, cell, images), _seconds(time))
            for task, worker, cell, time in rows
        ]


def _worker(name: str) -> str:
    if not name.strip():
        raise FormatError("an answer has no worker")
    return name.strip()


def _selected(task: str, cell: object, images: Mapping[str, Mapping[str, str]]) -> frozenset[str]:
    if task not in images:
        raise InputError(f"unknown task {task!r}")
    names = _names(cell)
    if unknown := [name for name in names if name not in images[task]]:
        raise InputError(f"task {task} has no tile {unknown[0]!r}")
    return frozenset(images[task][name] for name in names)


def _names(cell: object) -> list[str]:
    """The tile names of a cell: a list, a list as JSON, or names separated by spaces."""
    if cell is None:
        return []
    if isinstance(cell, str):
        cell = parse_json(cell) if cell.lstrip().startswith("[") else cell.split()
    if not isinstance(cell, list) or not all(isinstance(name, str) for name in cell):
        raise FormatError(f"selected must be a list of tile names, got {cell!r:.60}")
    return cell


def _seconds(value: object) -> float | None:
    if value is None or value == "":
        return None
    try:
        seconds = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise FormatError(f"seconds must be a number, got {value!r}") from None
    if not 0 <= seconds < float("inf"):
        raise FormatError(f"seconds must be finite and not negative, got {value!r}")
    return seconds
