"""Class spaces, and the class maps of test sets, as JSON files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

from regrade.classes import BUILT_IN, class_space, class_space_as_json, class_space_from_json
from regrade.core import ClassMap, ClassSpace, FormatError, InputError, MapRule, TestSet, UnknownName
from regrade.store.checked_files import read_stored_json, stored_json
from regrade.store.collection import Collection
from regrade.store.layout import place_of
from regrade.store.transaction import Transaction


class ClassSpaceCollection(Collection[ClassSpace, None]):
    """The class spaces of users; the built-in ones can be read in the same way."""

    kind = "classes"
    part_of_others = True

    def names_of(self, space: ClassSpace, _context: None) -> tuple[str, ...]:
        """The name of a class space."""
        return (space.name,)

    def refusal(self, space: ClassSpace, _context: None) -> str:
        """The error for other classes of the same name."""
        return f"a class space {space.name!r} with other classes exists: choose another name"

    def write(self, space: ClassSpace, _context: None, file: BinaryIO) -> None:
        """Write a class space."""
        file.write(stored_json(class_space_as_json(space), place=place_of(self.kind, space.name)))

    def has(self, *names: str) -> bool:
        """Whether a class space is built in or stored."""
        return names[0] in BUILT_IN or super().has(*names)

    def is_same(self, space: ClassSpace, _context: None) -> bool:
        """Whether the built-in or stored class space has the same classes."""
        return self.read(space.name).digest == space.digest

    def names(self, *parents: str) -> tuple[str, ...]:
        """The names of the built-in class spaces and the stored ones."""
        return (*BUILT_IN, *super().names(*parents))

    def read(self, name: str) -> ClassSpace:
        """A built-in or stored class space."""
        path = self.path(name)
        if path.is_file():
            return class_space_from_json(read_stored_json(path))
        if name not in BUILT_IN:
            self.refuse_lost(name)
            raise UnknownName("class space", name, self.names())
        return class_space(name)


class ClassMapCollection(Collection[ClassMap, TestSet]):
    """The class maps of test sets: for each class, the classes of another class space that count as it."""

    kind = "maps"

    def __init__(self, root: Path, class_spaces: ClassSpaceCollection) -> None:
        super().__init__(root)
        self._class_spaces = class_spaces

    def names_of(self, _class_map: ClassMap, test_set: TestSet) -> tuple[str, ...]:
        """The name of the test set."""
        return (test_set.name,)

    def refusal(self, _class_map: ClassMap, test_set: TestSet) -> str:
        """The error for another class map of the same test set."""
        return (
            f"another class map is stored with {test_set.name}: remove {self.path(test_set.name)} to replace it, or "
            "give this one to regrade grade with --map"
        )

    def put(self, change: Transaction, class_map: ClassMap, test_set: TestSet) -> None:
        """Stage a class map and the class space of its predictions."""
        self._class_spaces.place(change, class_map.source, None)
        super().put(change, class_map, test_set)

    def write(self, class_map: ClassMap, test_set: TestSet, file: BinaryIO) -> None:
        """Write class ids, both class spaces, and the rule that makes a prediction correct."""
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
        file.write(stored_json(content, place=place_of(self.kind, test_set.name)))

    def is_same(self, class_map: ClassMap, test_set: TestSet) -> bool:
        """Whether the stored class map, which must be intact, is the same."""
        return self._decoded(self.path(test_set.name), test_set).digest == class_map.digest

    def read(self, test_set: TestSet) -> ClassMap | None:
        """The class map of a test set; None if it has none."""
        path = self.path(test_set.name)
        return self._decoded(path, test_set) if path.is_file() else None

    def _decoded(self, path: Path, test_set: TestSet) -> ClassMap:
        """Read a class map; raise if it was edited or was made for other classes."""
        content = read_stored_json(path)
        try:
            class_map = _class_map(content, test_set.class_space, self._class_spaces.read(content["source"]))
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
