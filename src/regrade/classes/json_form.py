"""Convert class spaces to and from JSON values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from reprlib import repr as brief
from typing import Any

from regrade.core import ClassSpace, FormatError, Hierarchy, UnknownName

_KEYS = ("name", "ids", "names", "lemmas", "groups", "collapsed", "parents", "concept_lemmas")


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
