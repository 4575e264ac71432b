"""A user's own map between two class spaces, read from a CSV or a JSON file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from regrade.classes.json_form import class_indices
from regrade.classes.reading import faults_of, read_json, read_rows
from regrade.core import ClassMap, ClassSpace, FormatError, InputError, MapRule


def class_map_from_file(path: str | Path, source: ClassSpace, target: ClassSpace, rule: MapRule) -> ClassMap:
    """Read which classes of ``source`` stand for each class of ``target``; a fault raises `InputError`.

    - CSV: columns ``target`` and ``source``, a pair of ids a row.
    - JSON: ``{target id: [source ids or indices]}``.

    Every target class must be named; one with an empty source (an empty list) is left unmapped.
    """
    path = Path(path)
    with faults_of(path):
        entries = _entries(path, source, target)
        missing = [class_id for class_id in target.ids if class_id not in entries]
        if missing:
            raise FormatError(
                f"says nothing of {len(missing)} classes of {target.name}, {missing[0]!r} first; "
                "name each, with an empty source where none fits"
            )
        sources = tuple(tuple(dict.fromkeys(entries[class_id])) for class_id in target.ids)
        return ClassMap(source, target, sources, rule)


def _entries(path: Path, source: ClassSpace, target: ClassSpace) -> Mapping[str, tuple[int, ...]]:
    match path.suffix.casefold():
        case ".csv":
            return _csv(path, source, target)
        case ".json":
            return _json(path, source, target)
    raise FormatError("expected a file that ends in .csv or .json")


def _csv(path: Path, source: ClassSpace, target: ClassSpace) -> Mapping[str, tuple[int, ...]]:
    entries: dict[str, tuple[int, ...]] = {}
    for row in read_rows(path, ["target", "source"]):
        class_id, wanted = row.cells["target"], row.cells["source"]
        try:
            target.index(class_id)
            sources = (source.index(wanted),) if wanted else ()
        except InputError as error:
            raise FormatError(f"line {row.line}: {error}") from error
        entries[class_id] = entries.get(class_id, ()) + sources
    return entries


def _json(path: Path, source: ClassSpace, target: ClassSpace) -> Mapping[str, tuple[int, ...]]:
    content = read_json(path)
    if not isinstance(content, dict):
        raise FormatError("expected an object {target id: [source ids or indices]}")
    for class_id in content:
        target.index(class_id)
    return {class_id: class_indices(source, sources, class_id) for class_id, sources in content.items()}
