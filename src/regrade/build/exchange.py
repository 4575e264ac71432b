"""Tasks and answers in files for an outside crowd platform: opaque tile names out, selections in."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from pathlib import Path

from regrade.build.frequencies import Assignment
from regrade.build.tasks import GridTask
from regrade.core import ClassSpace, FormatError, InputError
from regrade.core.strict_json import parse_json
from regrade.tables import errors_with_path, read_json_rows, read_table, texts

_NAME_BYTES = 8  # twice as many characters
_ANSWER_COLUMNS = ("task", "worker", "selected")


def tile_name(task: GridTask, image: str, *, key: str) -> str:
    """The public name of an image in a task: it tells neither the image nor whether it is a control.

    Ids of reference images are often public, so that a plain hash could be guessed; ``key`` is a hash in hexadecimal
    digits that only the maintainer knows, such as the digest of the tasks.
    """
    return blake2b(f"{task.id}/{image}".encode(), digest_size=_NAME_BYTES, key=bytes.fromhex(key)).hexdigest()


def tile_names(task: GridTask, *, key: str) -> dict[str, str]:
    """The images of a task by their public names, in the order of its tiles."""
    return {tile_name(task, tile.image, key=key): tile.image for tile in task.tiles}


def tasks_as_json(tasks: Iterable[GridTask], space: ClassSpace, define: Callable[[str], str], *, key: str) -> str:
    """The tasks as a JSON list: task, class name, definition, and the names of the tiles in their order."""
    rows = [
        {
            "task": task.id,
            "class": space.names[space.index_of[task.class_id]],
            "definition": define(task.class_id),
            "tiles": list(tile_names(task, key=key)),
        }
        for task in tasks
    ]
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def tasks_as_csv(tasks: Iterable[GridTask], space: ClassSpace, define: Callable[[str], str], *, key: str) -> str:
    """The same as CSV, one row per task; the names of the tiles are separated by spaces."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["task", "class", "definition", "tiles"])
    for row in json.loads(tasks_as_json(tasks, space, define, key=key)):
        writer.writerow([row["task"], row["class"], row["definition"], " ".join(row["tiles"])])
    return file.getvalue()


def read_answers(path: Path, tasks: Iterable[GridTask], *, key: str) -> list[Assignment]:
    """Read answers: columns task, worker, selected (tile names, as a list or separated by spaces) and seconds.

    The file is CSV, Parquet, JSON lines, or a JSON list of objects. Raises for unknown tasks and tiles, and for times
    that are negative or not finite.
    """
    images = {task.id: tile_names(task, key=key) for task in tasks}
    table = read_json_rows(path) if path.suffix.lower() == ".json" else read_table(path)
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
        owner = next((f": it belongs to task {owner}" for owner in images if unknown[0] in images[owner]), "")
        raise InputError(f"task {task} has no tile {unknown[0]!r}{owner}")
    return frozenset(images[task][name] for name in names)


def _names(cell: object) -> list[str]:
    """The tile names of a cell: a list, a list as JSON, or names separated by spaces."""
    if cell is None:
        return []
    if isinstance(cell, int):  # a column of names that consist of digits only
        cell = str(cell)
    if isinstance(cell, str):
        cell = _json_list(cell) if cell.lstrip().startswith("[") else cell.split()
    if not isinstance(cell, list) or not all(isinstance(name, str) for name in cell):
        raise FormatError(f"selected must be a list of tile names, got {cell!r:.60}")
    return cell


def _json_list(text: str) -> object:
    try:
        return parse_json(text)
    except FormatError as error:
        raise FormatError(f"selected {error}, in {text!r:.60}") from None


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
