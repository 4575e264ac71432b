"""All classes of a class space as one JSON file for search and browsing: names, synonyms, definitions and a tree."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256

from regrade.classes import definition
from regrade.core import ClassSpace, Hierarchy


@dataclass(frozen=True)
class ClassIndex:
    """The content of the file, and its ETag."""

    content: bytes
    tag: str


def class_index(space: ClassSpace) -> ClassIndex:
    """Return the index of a class space: classes as ``[id, name, synonyms, definition]``, the tree by `Branch`."""
    classes = [
        [class_id, name, [word for word in words if word != name], definition(class_id) or ""]
        for class_id, name, words in zip(space.ids, space.names, space.lemmas, strict=True)
    ]
    tree = [[branch.name, branch.branches, branch.classes, branch.count] for branch in class_tree(space)]
    groups = {name: sorted(space.groups[name]) for name in sorted(space.groups)}
    index = {"space": space.name, "classes": classes, "tree": tree, "groups": groups}
    content = json.dumps(index, ensure_ascii=False, separators=(",", ":")).encode()
    return ClassIndex(content, f'"{sha256(content).hexdigest()[:32]}"')


@dataclass(frozen=True)
class Branch:
    """A concept: its child branches (by number), its child classes (by index) and the number of classes below it."""

    name: str
    branches: tuple[int, ...]
    classes: tuple[int, ...]
    count: int


def class_tree(space: ClassSpace) -> tuple[Branch, ...]:
    """Return the tree of a class space, root first; a class with several parents appears below each of them.

    A concept with a single child is replaced by that child. Without a hierarchy, the groups of the class space are the
    branches. Branches and classes are sorted by name.
    """
    return _by_group(space) if space.hierarchy is None else _TreeBuilder(space, space.hierarchy).tree()


def _by_group(space: ClassSpace) -> tuple[Branch, ...]:
    groups = [Branch(name, (), _sorted(space, members), len(set(members))) for name, members in space.groups.items()]
    groups.sort(key=lambda group: group.name)
    grouped = {index for group in groups for index in group.classes}
    rest = _sorted(space, (index for index in range(len(space)) if index not in grouped))
    return (Branch("all classes", tuple(range(1, len(groups) + 1)), rest, len(space)), *groups)


class _TreeBuilder:
    """Builds the tree, concept by concept."""

    def __init__(self, space: ClassSpace, hierarchy: Hierarchy) -> None:
        self.space, self.lemmas = space, hierarchy.lemmas
        self.below, self.children, self.roots = _top_down(space, hierarchy)
        self.number_of: dict[str, int] = {}
        self.branches: list[Branch] = []

    def tree(self) -> tuple[Branch, ...]:
        root = self.roots[0] if len(self.roots) == 1 else None
        if root is not None and root not in self.space.index_of:
            self.add(self.skip_single_children(root))
        else:
            self.branches.append(Branch("all classes", (), (), len(self.space)))
            parts = self.parts(self.roots)
            self.branches[0] = Branch("all classes", *parts, len(self.space))
        return tuple(self.branches)

    def add(self, concept: str) -> int:
        """Return the number of a concept's branch, and add the branch first if it is missing."""
        if concept not in self.number_of:
            number = self.number_of[concept] = len(self.branches)
            name = next(iter(self.lemmas.get(concept, ())), concept)
            self.branches.append(Branch(name, (), (), 0))
            branches, classes = self.parts(self.children.get(concept, ()), own=self.space.index_of.get(concept))
            self.branches[number] = Branch(name, branches, classes, len(self.below[concept]))
        return self.number_of[concept]

    def parts(self, concepts: Iterable[str], own: int | None = None) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the branches and classes of several concepts, without repeats, sorted by name."""
        children = dict.fromkeys(self.skip_single_children(concept) for concept in concepts)
        leaves = {min(self.below[child]) for child in children if len(self.below[child]) == 1}
        branches = [self.add(child) for child in children if len(self.below[child]) > 1]
        branches.sort(key=lambda number: (self.branches[number].name, number))
        return tuple(branches), _sorted(self.space, leaves if own is None else {*leaves, own})

    def skip_single_children(self, concept: str) -> str:
        """Return the concept, or the first one below it that is a class or has several children."""
        visited: set[str] = set()
        while concept not in visited and concept not in self.space.index_of:
            visited.add(concept)
            children = self.children.get(concept, ())
            if len(children) == 1:
                concept = children[0]
        return concept


def _top_down(
    space: ClassSpace, hierarchy: Hierarchy
) -> tuple[Mapping[str, set[int]], Mapping[str, tuple[str, ...]], list[str]]:
    """Return the classes below each concept, the child concepts of each concept, and the root concepts."""
    below: dict[str, set[int]] = {}
    for index, class_id in enumerate(space.ids):
        for concept in hierarchy.ancestors(class_id):
            below.setdefault(concept, set()).add(index)
    children: dict[str, list[str]] = {}
    for concept in below:
        for parent in hierarchy.parents.get(concept, ()):
            children.setdefault(parent, []).append(concept)
    roots = [concept for concept in below if not hierarchy.parents.get(concept)]
    return below, {parent: tuple(concepts) for parent, concepts in children.items()}, roots


def _sorted(space: ClassSpace, classes: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(classes), key=lambda index: space.names[index].casefold()))
