"""Maps between the classes that a model predicts and the classes of a test set."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np

from regrade.core.arrays import BoolArray, IntArray
from regrade.core.class_space import ClassSpace
from regrade.core.errors import InputError


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
