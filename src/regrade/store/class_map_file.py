"""The class map of a test set as a JSON file: for each class, the classes of another class space that count as it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from regrade.core import ClassMap, ClassSpace, FormatError, InputError, MapRule, TestSet
from regrade.store.checked_json import read_stored_json, stored_json
from regrade.store.layout import place_of_class_map


def class_map_content(class_map: ClassMap, test_set: TestSet) -> bytes:
    """The content of the file: class ids, both class spaces, and the rule that makes a prediction correct."""
    source = class_map.source
    content = {
        "test_set": test_set.name,
        "source": source.name,
        "target": class_map.target.name,
        "rule": class_map.rule.name.lower(),
        "digest": class_map.digest,
        "sources": {
            class_id: [source.ids[index] for index in entry]
            for class_id, entry in zip(class_map.target.ids, class_map.sources, strict=True)
        },
    }
    return stored_json(content, place=place_of_class_map(test_set.name))


def read_class_map(path: Path, test_set: TestSet, space_named: Callable[[str], ClassSpace]) -> ClassMap:
    """Read a class map; raise if it was edited or was made for other classes."""
    content = read_stored_json(path)
    try:
        class_map = _class_map(content, test_set.class_space, space_named(content["source"]))
        digest = content["digest"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, InputError):
            raise FormatError(f"{path}: {error}") from None
        raise FormatError(f"{path} is not a class map written by regrade") from None
    if class_map.digest != digest:
        raise FormatError(f"{path} was changed since it was stored: remove it and give the map again with --map")
    return class_map


def _class_map(content: dict[str, Any], target: ClassSpace, source: ClassSpace) -> ClassMap:
    entries = content["sources"]
    sources = tuple(tuple(source.index(source_id) for source_id in entries[class_id]) for class_id in target.ids)
    return ClassMap(source, target, sources, MapRule[content["rule"].upper()])
