"""Class spaces, ordered lists of classes with ids, names, groups and a hierarchy, and maps between them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from itertools import chain

import numpy as np

from regrade.core.arrays import BoolArray, IntArray
from regrade.core.complements import complemented
from regrade.core.errors import InputError, UnknownName

_DEFINITION = ": "  # separates the words of a class from its definition


@dataclass(frozen=True, eq=False)  # compared by identity, so that distances can be cached by it
class Hierarchy:
    """The parents of each concept, in order, and the words for each concept.

    A concept may have several parents (WordNet is not a tree); roots have none.
    """

    parents: Mapping[str, tuple[str, ...]]
    lemmas: Mapping[str, tuple[str, ...]]

    def ancestors(self, concept: str) -> dict[str, int]:
        """All ancestors of a concept, including itself, with the minimum number of steps up to each."""
        steps = {concept: 0}
        frontier = [concept]
        while frontier:
            above = [p for c in frontier for p in self.parents.get(c, ())]
            distance = steps[frontier[0]] + 1
            frontier = [p for p in dict.fromkeys(above) if p not in steps]
            steps.update((p, distance) for p in frontier)
        return steps

    def first_path_ancestors(self, concept: str) -> dict[str, int]:
        """As `ancestors`, but following only the first parent of each concept."""
        steps: dict[str, int] = {}
        while concept not in steps:
            steps[concept] = len(steps)
            concept = next(iter(self.parents.get(concept, ())), concept)
        return steps

    def paths(self, concept: str) -> tuple[tuple[str, ...], ...]:
        """All paths from a root down to the concept, the first parents' path first."""
        return tuple(self._paths(concept, frozenset()))

    def _paths(self, concept: str, below: frozenset[str]) -> list[tuple[str, ...]]:
        if concept in below:
            raise InputError(f"the hierarchy has a cycle through {concept!r}")
        parents = self.parents.get(concept, ())
        if not parents:
            return [(concept,)]
        return [(*path, concept) for p in parents for path in self._paths(p, below | {concept})]


@dataclass(frozen=True)
class ClassSpace:
    """Classes by index: position i of every field belongs to class i.

    ``names`` are unique display names; ``lemmas`` are all words for a class; ``groups`` are named
    sets of classes; ``collapsed[l]`` are the classes that are also accepted for label l, since
    people cannot distinguish them from it (Vasudevan et al. 2022, appendix). Two spaces are equal if
    their names and ids are equal.
    """

    name: str
    ids: tuple[str, ...]
    names: tuple[str, ...] = field(default=(), compare=False)
    lemmas: tuple[tuple[str, ...], ...] = field(default=(), compare=False)
    hierarchy: Hierarchy | None = field(default=None, compare=False)
    groups: Mapping[str, tuple[int, ...]] = field(default_factory=dict, compare=False)
    collapsed: Mapping[int, tuple[int, ...]] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if not self.ids:
            raise InputError(f"class space {self.name!r} has no classes")
        object.__setattr__(self, "names", self.names or self.ids)
        object.__setattr__(self, "lemmas", self.lemmas or tuple((name,) for name in self.names))
        for what, size in (("names", len(self.names)), ("lists of lemmas", len(self.lemmas))):
            if size != len(self.ids):
                raise InputError(f"class space {self.name!r}: {len(self.ids)} ids, {size} {what}")
        for what, values in (("id", self.ids), ("name", self.names)):
            if (repeated := _first_repeated(values)) is not None:
                raise InputError(f"class space {self.name!r}: the {what} {repeated!r} occurs twice")
        self._check_indices("a group", *self.groups.values())
        self._check_indices("collapsed", self.collapsed, *self.collapsed.values())

    def _check_indices(self, what: str, *members: Iterable[int]) -> None:
        for index in chain.from_iterable(members):
            if not 0 <= index < len(self.ids):
                raise InputError(
                    f"class space {self.name!r}: {what} contains class {index}, but there are {len(self.ids)} classes"
                )

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def index_of(self) -> Mapping[str, int]:
        """The index by class id."""
        return {class_id: index for index, class_id in enumerate(self.ids)}

    @cached_property
    def digest(self) -> str:
        """A hash of the ids in order: equal digests mean that class indices are compatible."""
        return hashlib.sha256("\n".join(self.ids).encode()).hexdigest()

    def index(self, class_id: str) -> int:
        """The index of a class id; an unknown id raises an error with suggestions."""
        try:
            return self.index_of[class_id]
        except KeyError:
            raise UnknownName(f"class id of {self.name}", class_id, self.ids, hint=self._name_hint(class_id)) from None

    def outside(self, index: object) -> str:
        """The message that a class index is out of range; that of labels that count from 1 says what to do."""
        from_one = "; indices count from 0: subtract 1 if those in the data count from 1"
        hint = from_one if str(index) == str(len(self)) else ""
        return f"class index {index} is outside {self.name} (0 to {len(self) - 1}){hint}"

    def resolve(self, text: str) -> int:
        """The index of a class by its id, its name, one of its words, or all its words with a comma between them.

        Case and underscores are ignored where that is unambiguous. A definition may follow after a colon. Unknown and
        ambiguous text raises.

        >>> ClassSpace("pets", ("n1", "n2"), ("cat", "dog"), (("cat", "true cat"), ("dog",))).resolve("True_cat")
        0
        """
        if text in self.index_of:
            return self.index_of[text]
        for words in (text, text.partition(_DEFINITION)[0]):
            classes = next((classes for lookup in self._lookups if (classes := lookup(words))), frozenset())
            if classes:
                return self._only(classes, text)
        kind = "class id" if self.names == self.ids else "class id or name"
        raise UnknownName(f"{kind} of {self.name}", text, dict.fromkeys((*self.ids, *self.names)))

    def resolve_all(self, texts: Iterable[str]) -> dict[str, int]:
        """The index of each text, as `resolve` finds it.

        If every text lists all words of a class, and at least one lists several, only such lists are compared: then
        ``partridge`` is the class without another word.
        """
        distinct = list(dict.fromkeys(texts))
        lists = [text.partition(_DEFINITION)[0] for text in distinct]
        if any(", " in words for words in lists) and all(self._described(words) for words in lists):
            classes = zip(distinct, map(self._described, lists), strict=True)
            return {text: self._only(described, text) for text, described in classes}
        return {text: self.resolve(text) for text in distinct}

    def _only(self, classes: Set[int], text: str) -> int:
        """The only one of the classes that a text may mean; several raise."""
        if len(classes) > 1:
            candidates = ", ".join(f"{self.ids[index]} ({self.names[index]})" for index in sorted(classes))
            raise InputError(f"{text!r} could be {candidates} of {self.name}: use class ids or indices")
        return min(classes)

    @cached_property
    def _described(self) -> Callable[[str], Set[int]]:
        """A function from a list of words to the classes that have exactly these."""
        return _lookup([(", ".join(lemmas),) for lemmas in self.lemmas], str)

    @cached_property
    def _lookups(self) -> tuple[Callable[[str], Set[int]], ...]:
        """Functions from text to classes: by name, by word or list of words, and by both with case folded."""
        names = [(name,) for name in self.names]
        words = [(*lemmas, ", ".join(lemmas)) for lemmas in self.lemmas]
        return tuple(_lookup(classes, fold) for fold in (str, _folded) for classes in (names, words))

    def group(self, name: str) -> IntArray:
        """The classes of a named group, of a class id, or below a concept of the hierarchy, ascending.

        ``not`` or ``without`` and a group are all classes but these.
        """
        if (rest := self.complemented(name)) is not None:
            return np.setdiff1d(np.arange(len(self), dtype=np.intp), self.group(rest))
        if name in self.groups:
            return np.array(sorted(self.groups[name]), dtype=np.intp)
        if name in self.index_of:
            return np.array([self.index_of[name]], dtype=np.intp)
        if self.hierarchy is not None and self._is_concept(name):
            below = [i for i, c in enumerate(self.ids) if name in self.hierarchy.ancestors(c)]
            return np.array(below, dtype=np.intp)
        raise UnknownName(f"group of {self.name}", name, [*self.groups, *self.ids])

    def complemented(self, name: str) -> str | None:
        """The group that a name is the complement of; None if it is not, or if it is the name of a group itself."""
        own = name in self.groups or name in self.index_of or self._is_concept(name)
        return None if own else complemented(name)

    def _is_concept(self, name: str) -> bool:
        return self.hierarchy is not None and name in self.hierarchy.lemmas

    def subset(self, name: str, indices: Iterable[int]) -> ClassSpace:
        """A class space of the given classes, in the given order, with the same ids and names.

        Groups and collapsed classes are restricted to the given classes.
        """
        kept = list(indices)
        place = {old: new for new, old in enumerate(kept)}
        groups = {group: _placed(members, place) for group, members in self.groups.items()}
        collapsed = {place[k]: _placed(v, place) for k, v in self.collapsed.items() if k in place}
        return ClassSpace(
            name,
            tuple(self.ids[i] for i in kept),
            tuple(self.names[i] for i in kept),
            tuple(self.lemmas[i] for i in kept),
            self.hierarchy,
            {group: members for group, members in groups.items() if members},
            {label: accepted for label, accepted in collapsed.items() if accepted},
        )

    def _name_hint(self, class_id: str) -> str:
        folded = class_id.casefold()
        for index, words in enumerate(self.lemmas):
            if folded in (word.casefold() for word in words):
                return f" (this is a name of {self.ids[index]}: use the id)"
        return ""


def _folded(text: str) -> str:
    return text.casefold().replace("_", " ").strip()


def _lookup(words: Sequence[tuple[str, ...]], fold: Callable[[str], str]) -> Callable[[str], Set[int]]:
    """A function from a word to the classes that have it, up to ``fold``."""
    classes: dict[str, set[int]] = {}
    for index, own in enumerate(words):
        for word in own:
            classes.setdefault(fold(word), set()).add(index)
    return lambda text: classes.get(fold(text), frozenset())


def _placed(indices: Iterable[int], place: Mapping[int, int]) -> tuple[int, ...]:
    return tuple(place[index] for index in indices if index in place)


def _first_repeated(values: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


class MapRule(Enum):
    """When a prediction counts as correct across two class spaces."""

    ANY_IN_TOP_K = "any mapped class in the top k over all classes"
    """Richards et al. 2023: the model chooses among all its classes; any mapped class is accepted."""

    WITHIN_MAPPED = "top k among the mapped classes only"
    """ImageNet-A and -R: classes outside the map are removed before the model chooses."""


@dataclass(frozen=True)
class ClassMap:
    """For each class of ``target`` the accepted classes of ``source``; there may be none.

    Examples whose label has no source class are not scored.
    """

    source: ClassSpace
    target: ClassSpace
    sources: tuple[tuple[int, ...], ...]
    rule: MapRule

    def __post_init__(self) -> None:
        if len(self.sources) != len(self.target):
            raise InputError(
                f"a map onto {self.target.name!r} needs {len(self.target)} entries, got {len(self.sources)}"
            )
        if any(not 0 <= s < len(self.source) for entry in self.sources for s in entry):
            raise InputError(f"the map contains a class index outside {self.source.name!r}")

    @cached_property
    def digest(self) -> str:
        """A hash of both class spaces, the rule and the mapped classes, independent of their order."""
        state = hashlib.sha256("\n".join([self.source.digest, self.target.digest, self.rule.name]).encode())
        for entry in self.sources:
            state.update((",".join(map(str, sorted(set(entry)))) + "\n").encode())
        return state.hexdigest()

    @cached_property
    def accepts(self) -> BoolArray:
        """Shape (target, source): which source classes are accepted for each target class."""
        table = np.zeros((len(self.target), len(self.source)), dtype=bool)
        for row, entry in enumerate(self.sources):
            table[row, list(entry)] = True
        return table

    @property
    def mapped(self) -> IntArray:
        """The source classes that are mapped to any target class, ascending."""
        return np.flatnonzero(self.accepts.any(axis=0))

    @property
    def scorable(self) -> BoolArray:
        """Shape (target,): which target classes have at least one source class."""
        return np.asarray(self.accepts.any(axis=1))


def subset_map(source: ClassSpace, target: ClassSpace) -> ClassMap:
    """The map from a class space to a subset of its classes, with the rule `MapRule.WITHIN_MAPPED`."""
    return ClassMap(source, target, tuple((source.index(class_id),) for class_id in target.ids), MapRule.WITHIN_MAPPED)
