"""The classes of a space as a tree to walk: their hierarchy without its single file, or their groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from regrade.core import ClassSpace, Hierarchy


@dataclass(frozen=True)
class Branch:
    """A concept, the branches (by number) and classes (by index) right below it, and how many classes in all."""

    name: str
    branches: tuple[int, ...]
    classes: tuple[int, ...]
    count: int


def class_tree(space: ClassSpace) -> tuple[Branch, ...]:
    """The tree of a class space, its root first; a class with several parents stands below each of them.

    What has one branch only is left out in favor of that branch, and one with a single class in favor of the class.
    Without a hierarchy the groups of the space are its branches; all are in the order of their names.
    """
    return _by_group(space) if space.hierarchy is None else _Growing(space, space.hierarchy).tree()


def _by_group(space: ClassSpace) -> tuple[Branch, ...]:
    groups = [Branch(name, (), _sorted(space, members), len(set(members))) for name, members in space.groups.items()]
    groups.sort(key=lambda one: one.name)
    grouped = {index for one in groups for index in one.classes}
    rest = _sorted(space, (index for index in range(len(space)) if index not in grouped))
    return (Branch("all classes", tuple(range(1, len(groups) + 1)), rest, len(space)), *groups)


class _Growing:
    """A tree while it is made, concept by concept."""

    def __init__(self, space: ClassSpace, hierarchy: Hierarchy) -> None:
        self.space, self.lemmas = space, hierarchy.lemmas
        self.below, self.children, self.roots = _downwards(space, hierarchy)
        self.grown: dict[str, int] = {}
        self.branches: list[Branch] = []

    def tree(self) -> tuple[Branch, ...]:
        root = self.roots[0] if len(self.roots) == 1 else None
        if root is not None and root not in self.space.index_of:
            self.grow(self.opened(root))
        else:
            self.branches.append(Branch("all classes", (), (), len(self.space)))
            parts = self.parts(self.roots)
            self.branches[0] = Branch("all classes", *parts, len(self.space))
        return tuple(self.branches)

    def grow(self, concept: str) -> int:
        """The number of a concept's branch."""
        if concept not in self.grown:
            number = self.grown[concept] = len(self.branches)
            name = next(iter(self.lemmas.get(concept, ())), concept)
            self.branches.append(Branch(name, (), (), 0))
            branches, classes = self.parts(self.children.get(concept, ()), own=self.space.index_of.get(concept))
            self.branches[number] = Branch(name, branches, classes, len(self.below[concept]))
        return self.grown[concept]

    def parts(self, concepts: Iterable[str], own: int | None = None) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Branches and classes for some concepts, each once and sorted by name."""
        opened = dict.fromkeys(self.opened(one) for one in concepts)
        leaves = {min(self.below[one]) for one in opened if len(self.below[one]) == 1}
        branches = [self.grow(one) for one in opened if len(self.below[one]) > 1]
        branches.sort(key=lambda number: (self.branches[number].name, number))
        return tuple(branches), _sorted(self.space, leaves if own is None else {*leaves, own})

    def opened(self, concept: str) -> str:
        """A concept, or the first one below it that is a class or has more than one part."""
        passed: set[str] = set()
        while concept not in passed and concept not in self.space.index_of:
            passed.add(concept)
            only = self.children.get(concept, ())
            if len(only) == 1:
                concept = only[0]
        return concept


def _downwards(
    space: ClassSpace, hierarchy: Hierarchy
) -> tuple[Mapping[str, set[int]], Mapping[str, tuple[str, ...]], list[str]]:
    """For each concept above a class: the classes below it, and the concepts right below it; and those on top."""
    below: dict[str, set[int]] = {}
    for index, class_id in enumerate(space.ids):
        for concept in hierarchy.ancestors(class_id):
            below.setdefault(concept, set()).add(index)
    children: dict[str, list[str]] = {}
    for concept in below:
        for parent in hierarchy.parents.get(concept, ()):
            children.setdefault(parent, []).append(concept)
    roots = [concept for concept in below if not hierarchy.parents.get(concept)]
    return below, {parent: tuple(found) for parent, found in children.items()}, roots


def _sorted(space: ClassSpace, classes: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(classes), key=lambda index: space.names[index].casefold()))
