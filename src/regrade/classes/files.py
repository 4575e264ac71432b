"""Class spaces and class maps in CSV and JSON files; every error is one line that names the file."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from reprlib import repr as brief
from typing import Any

from regrade.core import ClassMap, ClassSpace, FormatError, Hierarchy, InputError, MapRule, UnknownName
from regrade.core.errors import not_utf8
from regrade.core.names import near_miss
from regrade.core.strict_json import parse_json

_KEYS = ("name", "ids", "names", "lemmas", "groups", "collapsed", "parents", "concept_lemmas")


def class_space_from_file(path: str | Path, name: str | None = None) -> ClassSpace:
    """Read a class space (default name: the name of the file); raise `InputError` if it is invalid.

    - CSV: one row per class, in order, with the column ``id`` and optionally ``name``, ``parent`` and
      ``groups`` (several parents or groups are separated by ``;``).
    - JSON: a list of ids, an object ``{id: name}``, or an object with ``ids`` and optionally
      ``name``, ``names``, ``groups``, ``parents`` (see `class_space_from_json`).
    - Text (``.txt``): one id per line, in order.
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
    readers = {".csv": _csv_space, ".json": _json_space, ".txt": _text_space}
    if path.suffix.casefold() not in readers:
        raise FormatError("expected a file that ends in .csv, .json or .txt, or a folder of folders")
    return readers[path.suffix.casefold()]


def _folder(path: Path) -> Mapping[str, Any]:
    ids = sorted(entry.name for entry in path.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    if not ids:
        raise FormatError("the folder has no sub-folders; expected one per class, named by its id")
    for name in ids:
        if not name.isascii() and any("\udc80" <= character <= "\udcff" for character in name):
            raise FormatError(f"the name of the sub-folder {name!a} is not valid UTF-8: rename it first")
    return {"name": path.resolve().name, "ids": ids}


def _text_space(path: Path) -> Mapping[str, Any]:
    return {"ids": [line.strip() for line in _text(path).splitlines() if line.strip()]}


def _json_space(path: Path) -> Mapping[str, Any]:
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


def _csv_space(path: Path) -> Mapping[str, Any]:
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


def class_map_from_file(path: str | Path, source: ClassSpace, target: ClassSpace, rule: MapRule) -> ClassMap:
    """Read the accepted classes of ``source`` for each class of ``target``; raise `InputError` if invalid.

    - CSV: columns ``target`` and ``source``, one pair of ids per row.
    - JSON: ``{target id: [source ids or indices]}``.

    Every target class must be listed; an empty source (an empty list) leaves it unmapped.
    """
    path = Path(path)
    with errors_naming(path):
        entries = _map_entries(path, source, target)
        missing = [class_id for class_id in target.ids if class_id not in entries]
        if missing:
            raise FormatError(
                f"lacks {len(missing)} classes of {target.name}, for example {missing[0]!r}; "
                "list every class, with an empty source if there is none"
            )
        sources = tuple(tuple(dict.fromkeys(entries[class_id])) for class_id in target.ids)
        if not any(sources):
            raise FormatError("maps no class: give each class the predicted classes that count as it")
        return ClassMap(source, target, sources, rule)


def _map_entries(path: Path, source: ClassSpace, target: ClassSpace) -> Mapping[str, tuple[int, ...]]:
    match path.suffix.casefold():
        case ".csv":
            return _csv_map(path, source, target)
        case ".json":
            return _json_map(path, source, target)
    raise FormatError("expected a file that ends in .csv or .json")


def _csv_map(path: Path, source: ClassSpace, target: ClassSpace) -> Mapping[str, tuple[int, ...]]:
    entries: dict[str, tuple[int, ...]] = {}
    for row in read_rows(path, ["target", "source"]):
        class_id, source_id = row.cells["target"], row.cells["source"]
        try:
            target.index(class_id)
            sources = (source.index(source_id),) if source_id else ()
        except InputError as error:
            raise FormatError(f"line {row.line}: {error}") from error
        entries[class_id] = entries.get(class_id, ()) + sources
    return entries


def _json_map(path: Path, source: ClassSpace, target: ClassSpace) -> Mapping[str, tuple[int, ...]]:
    content = read_json(path)
    if not isinstance(content, dict):
        raise FormatError("expected an object {target id: [source ids or indices]}")
    for class_id in content:
        target.index(class_id)
    return {class_id: class_indices(source, sources, class_id) for class_id, sources in content.items()}


@dataclass(frozen=True)
class CsvRow:
    """One row of a CSV file: its last line number, and its cells by column without surrounding whitespace."""

    line: int
    cells: dict[str, str]


@contextmanager
def errors_naming(path: Path) -> Iterator[None]:
    """Prefix the messages of errors with the path of the file."""
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    try:
        yield
    except InputError as error:
        raise FormatError(f"{path}: {error}") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error


def read_rows(path: Path, required: Sequence[str], optional: Sequence[str] = ()) -> list[CsvRow]:
    """Read a CSV file with a header that contains the required columns.

    Other columns are ignored, but a misspelled optional column raises an error.
    """
    reader = csv.DictReader(io.StringIO(_text(path), newline=""), strict=True)
    try:
        columns = [column.strip().casefold() for column in reader.fieldnames or ()]
        _check_columns(columns, required, optional)
        reader.fieldnames = columns
        rows = [_row(reader.line_num, cells) for cells in reader]
    except csv.Error as error:
        raise FormatError(
            f"line {max(reader.line_num, 1)} is not valid CSV: close every quote, and double quotes within a cell"
        ) from error
    if not rows:
        raise FormatError("has a header but no rows; add one row per class")
    return rows


def read_json(path: Path) -> Any:
    """Read a JSON file; raise if a key is repeated in an object."""
    return parse_json(_text(path))


def _text(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(not_utf8(error)) from error
    if not text.strip():
        raise FormatError("is empty")
    return text


def _check_columns(columns: Sequence[str], required: Sequence[str], optional: Sequence[str]) -> None:
    for column in required:
        if column not in columns:
            raise FormatError(f"has no column {column!r}; its header contains {', '.join(columns)}")
    if len(set(columns)) != len(columns):
        raise FormatError("has a column twice in its header")
    for column in columns:
        if column not in optional and (near := near_miss(column, set(optional).difference(columns))):
            raise UnknownName("column", column, [near], hint=" (rename or remove it)")


def _row(line: int, cells: dict[str | Any, str | Any]) -> CsvRow:
    if None in cells:
        raise FormatError(f"line {line} has more cells than the header")
    if None in cells.values():
        raise FormatError(f"line {line} has fewer cells than the header")
    return CsvRow(line, {column: cell.strip() for column, cell in cells.items()})


def class_space_as_json(space: ClassSpace) -> dict[str, Any]:
    """Return a class space as JSON values; classes are referenced by id."""
    content: dict[str, Any] = {
        "name": space.name,
        "ids": list(space.ids),
        "names": list(space.names),
        "lemmas": [list(words) for words in space.lemmas],
        "groups": {group: _ids(space, members) for group, members in space.groups.items()},
        "collapsed": {space.ids[label]: _ids(space, also) for label, also in space.collapsed.items()},
    }
    if space.hierarchy is not None:
        content["parents"] = {concept: list(above) for concept, above in space.hierarchy.parents.items()}
        content["concept_lemmas"] = {c: list(words) for c, words in space.hierarchy.lemmas.items()}
    return content


def class_space_from_json(content: Mapping[str, Any]) -> ClassSpace:
    """Return the class space described by JSON values: ``name``, ``ids`` and optional keys.

    ``names`` and ``lemmas`` are in the order of the ids; ``groups`` and ``collapsed`` list ids or indices;
    ``parents`` maps each concept to one parent or a list. Raise `InputError` if the values are invalid.
    """
    for key in content:
        if key not in _KEYS:
            raise UnknownName("key of a class space", key, _KEYS)
    space = ClassSpace(
        _name(content.get("name")),
        _class_ids(content.get("ids")),
        _strings(content.get("names", ()), "names"),
        tuple(_strings(words, "lemmas") for words in _listed(content.get("lemmas", ()), "lemmas")),
    )
    groups = _mapping(content.get("groups", {}), "groups")
    collapsed = _mapping(content.get("collapsed", {}), "collapsed")
    return replace(
        space,
        hierarchy=_hierarchy(content, space) if "parents" in content else None,
        groups={group: class_indices(space, members, "groups") for group, members in groups.items()},
        collapsed={space.index(label): class_indices(space, also, "collapsed") for label, also in collapsed.items()},
    )


def class_indices(space: ClassSpace, references: Any, what: str) -> tuple[int, ...]:
    """Return the class indices for a JSON list of ids or indices."""
    return tuple(_class_index(space, reference, what) for reference in _listed(references, what))


def _class_index(space: ClassSpace, reference: Any, what: str) -> int:
    if isinstance(reference, str):
        return space.index(reference)
    if isinstance(reference, int) and not isinstance(reference, bool):
        return reference
    raise FormatError(f"{what}: expected a class id or class index, got {brief(reference)}")


def _hierarchy(content: Mapping[str, Any], space: ClassSpace) -> Hierarchy:
    parents = {c: _parents(above) for c, above in _mapping(content["parents"], "parents").items()}
    if "concept_lemmas" in content:
        given = _mapping(content["concept_lemmas"], "concept_lemmas")
        lemmas = {concept: _strings(words, "concept_lemmas") for concept, words in given.items()}
    else:
        concepts = [*parents, *(parent for above in parents.values() for parent in above)]
        lemmas = {concept: (concept,) for concept in concepts}
        lemmas |= dict(zip(space.ids, space.lemmas, strict=True))
    hierarchy = Hierarchy(parents, lemmas)
    _check_acyclic(hierarchy)
    return hierarchy


def _check_acyclic(hierarchy: Hierarchy) -> None:
    for concept, above in hierarchy.parents.items():
        if any(concept in hierarchy.ancestors(parent) for parent in above):
            raise FormatError(f"parents: {concept!r} is its own ancestor; remove the cycle")


def _parents(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else _strings(value, "parents")


def _name(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise FormatError(f"name: a class space needs a name, got {brief(value)}")
    return value


def _class_ids(value: Any) -> tuple[str, ...]:
    ids = _strings(value, "ids")
    if not all(class_id.strip() for class_id in ids):
        raise FormatError("ids: an id is empty")
    return ids


def _strings(value: Any, what: str) -> tuple[str, ...]:
    entries = _listed(value, what)
    for entry in entries:
        if not isinstance(entry, str):
            raise FormatError(f"{what}: expected a list of strings, got {brief(entry)}")
    return entries


def _listed(value: Any, what: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise FormatError(f"{what}: expected a list, got {brief(value)}")
    return tuple(value)


def _mapping(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise FormatError(f"{what}: expected an object, got {brief(value)}")
    return value


def _ids(space: ClassSpace, indices: Iterable[int]) -> list[str]:
    return [space.ids[index] for index in indices]
