"""Read a map between two class spaces from a CSV or JSON file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from regrade.classes.json_form import class_indices
from regrade.classes.reading import errors_naming, read_json, read_rows
from regrade.core import ClassMap, ClassSpace, FormatError, InputError, MapRule


def class_map_from_file(path: str | Path, source: ClassSpace, target: ClassSpace, rule: MapRule) -> ClassMap:
    """Read the accepted classes of ``source`` for each class of ``target``; raise `InputError` if invalid.

    - CSV: columns ``target`` and ``source``, one pair of ids per row.
    - JSON: ``{target id: [source ids or indices]}``.

    Every target class must be listed; an empty source (an empty list) leaves it unmapped.
    """
    path = Path(path)
    with errors_naming(path):
        entries = _entries(path, source, target)
        missing = [class_id for class_id in target.ids if class_id not in entries]
        if missing:
            raise FormatError(
                f"lacks {len(missing)} classes of {target.name}, for example {missing[0]!r}; "
                "list every class, with an empty source if there is none"
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
        class_id, source_id = row.cells["target"], row.cells["source"]
        try:
            target.index(class_id)
            sources = (source.index(source_id),) if source_id else ()
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
