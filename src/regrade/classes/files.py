"""A user's own class space, read from a CSV file, a JSON file or a folder of folders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from regrade.classes.json_form import class_space_from_json
from regrade.classes.reading import CsvRow, faults_of, read_json, read_rows
from regrade.core import ClassSpace, FormatError


def class_space_from_file(path: str | Path, name: str | None = None) -> ClassSpace:
    """Read a class space, named after the file unless a name is given; a fault raises `InputError`.

    - CSV: a row a class in order, columns ``id`` and, if wanted, ``name``, ``parent``, ``groups``
      (several parents or groups are separated by ``;``).
    - JSON: a list of ids, an object ``{id: name}``, or an object with ``ids`` and, if wanted,
      ``name``, ``names``, ``groups``, ``parents`` (see `class_space_from_json`).
    - A folder: its sub-folders' names, sorted as text ("10" comes before "2"). Use it only for a
      space that has no order of its own: a model's class indices must mean the same order.
    """
    path = Path(path)
    with faults_of(path):
        content = {"name": path.stem, **_reader(path)(path)}
        space = class_space_from_json(content if name is None else {**content, "name": name})
        _check_blanks(space)
        return space


def _check_blanks(space: ClassSpace) -> None:
    """Raise where blanks around an id would make it another id than the one that is seen."""
    padded = next((class_id for class_id in space.ids if class_id != class_id.strip()), None)
    if padded is not None:
        raise FormatError(f"the id {padded!r} begins or ends with a blank: remove it")


def _reader(path: Path) -> Callable[[Path], Mapping[str, Any]]:
    if path.is_dir():
        return _folder
    readers = {".csv": _csv, ".json": _json}
    if path.suffix.casefold() not in readers:
        raise FormatError("expected a file that ends in .csv or .json, or a folder of folders")
    return readers[path.suffix.casefold()]


def _folder(path: Path) -> Mapping[str, Any]:
    ids = sorted(entry.name for entry in path.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    if not ids:
        raise FormatError("the folder has no sub-folders; expected one a class, named by its id")
    for name in ids:
        if not name.isascii() and any("\udc80" <= letter <= "\udcff" for letter in name):
            raise FormatError(f"the name of the sub-folder {name!a} is not valid UTF-8: rename it first")
    return {"name": path.resolve().name, "ids": ids}


def _json(path: Path) -> Mapping[str, Any]:
    content = read_json(path)
    if isinstance(content, list):
        return {"ids": content}
    if not isinstance(content, dict):
        raise FormatError("expected a list of ids or an object")
    if "ids" in content and not isinstance(content["ids"], str):
        return content
    if not all(isinstance(name, str) for name in content.values()):
        raise FormatError("expected an object {id: name}, or one that has the ids under the key 'ids'")
    return {"ids": list(content), "names": list(content.values())}


def _csv(path: Path) -> Mapping[str, Any]:
    rows = read_rows(path, ["id"], optional=["name", "parent", "groups"])
    _check_ids(rows)
    content: dict[str, Any] = {
        "ids": [row.cells["id"] for row in rows],
        "names": [row.cells.get("name") or row.cells["id"] for row in rows],
        "groups": _groups(rows),
    }
    parents = {row.cells["id"]: _several(row, "parent") for row in rows}
    return content | {"parents": parents} if any(parents.values()) else content


def _check_ids(rows: list[CsvRow]) -> None:
    line_of: dict[str, int] = {}
    for row in rows:
        class_id = row.cells["id"]
        if not class_id:
            raise FormatError(f"line {row.line} has no id")
        if class_id in line_of:
            raise FormatError(f"the id {class_id!r} stands on line {line_of[class_id]} and on line {row.line}")
        line_of[class_id] = row.line


def _groups(rows: list[CsvRow]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for index, row in enumerate(rows):
        for group in _several(row, "groups"):
            groups.setdefault(group, []).append(index)
    return groups


def _several(row: CsvRow, column: str) -> list[str]:
    parts = (part.strip() for part in row.cells.get(column, "").split(";"))
    return list(dict.fromkeys(part for part in parts if part))
