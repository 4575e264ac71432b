"""Read a class space from a CSV file, a JSON file or a folder of folders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from regrade.classes.json_form import class_space_from_json
from regrade.classes.reading import CsvRow, errors_naming, read_json, read_rows
from regrade.core import ClassSpace, FormatError


def class_space_from_file(path: str | Path, name: str | None = None) -> ClassSpace:
    """Read a class space (default name: the name of the file); raise `InputError` if it is invalid.

    - CSV: one row per class, in order, with the column ``id`` and optionally ``name``, ``parent`` and
      ``groups`` (several parents or groups are separated by ``;``).
    - JSON: a list of ids, an object ``{id: name}``, or an object with ``ids`` and optionally
      ``name``, ``names``, ``groups``, ``parents`` (see `class_space_from_json`).
    - A folder: the names of its sub-folders, sorted as text ("10" comes before "2"). The class indices
      of a model must have the same order.
    """
    path = Path(path)
    with errors_naming(path):
        content = {"name": path.stem, **_reader(path)(path)}
        space = class_space_from_json(content if name is None else {**content, "name": name})
        _check_whitespace(space)
        return space


def _check_whitespace(space: ClassSpace) -> None:
    """Raise if an id begins or ends with whitespace."""
    padded = next((class_id for class_id in space.ids if class_id != class_id.strip()), None)
    if padded is not None:
        raise FormatError(f"the id {padded!r} begins or ends with whitespace: remove it")


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
        raise FormatError("the folder has no sub-folders; expected one per class, named by its id")
    for name in ids:
        if not name.isascii() and any("\udc80" <= character <= "\udcff" for character in name):
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
        raise FormatError("expected an object {id: name}, or an object with the key 'ids'")
    return {"ids": list(content), "names": list(content.values())}


def _csv(path: Path) -> Mapping[str, Any]:
    rows = read_rows(path, ["id"], optional=["name", "parent", "groups"])
    _check_ids(rows)
    content: dict[str, Any] = {
        "ids": [row.cells["id"] for row in rows],
        "names": [row.cells.get("name") or row.cells["id"] for row in rows],
        "groups": _groups(rows),
    }
    parents = {row.cells["id"]: _split_cell(row, "parent") for row in rows}
    return content | {"parents": parents} if any(parents.values()) else content


def _check_ids(rows: list[CsvRow]) -> None:
    line_of: dict[str, int] = {}
    for row in rows:
        class_id = row.cells["id"]
        if not class_id:
            raise FormatError(f"line {row.line} has no id")
        if class_id in line_of:
            raise FormatError(f"the id {class_id!r} occurs on line {line_of[class_id]} and on line {row.line}")
        line_of[class_id] = row.line


def _groups(rows: list[CsvRow]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for index, row in enumerate(rows):
        for group in _split_cell(row, "groups"):
            groups.setdefault(group, []).append(index)
    return groups


def _split_cell(row: CsvRow, column: str) -> list[str]:
    parts = (part.strip() for part in row.cells.get(column, "").split(";"))
    return list(dict.fromkeys(part for part in parts if part))
