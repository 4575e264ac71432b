"""From the classes a model predicts to the classes a test set is labeled with."""

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
    """What makes a prediction right across two class spaces."""

    ANY_IN_TOP_K = "any mapped class in the top k over all classes"
    """Richards et al. 2023: the model chooses among all its classes, any mapped one will do."""

    WITHIN_MAPPED = "top k among the mapped classes only"
    """ImageNet-A and -R: classes outside the map are struck out before the model chooses."""


@dataclass(frozen=True)
class ClassMap:
    """For each class of ``target`` the classes of ``source`` that stand for it; it may be none.

    An example whose label has no source class cannot be scored and is left out of the count.
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
            raise InputError(f"the map names a class index outside {self.source.name!r}")

    @cached_property
    def digest(self) -> str:
        """A hash of both spaces, the rule and which classes stand for which, whatever their order."""
        state = hashlib.sha256("\n".join([self.source.digest, self.target.digest, self.rule.name]).encode())
        for entry in self.sources:
            state.update((",".join(map(str, sorted(set(entry)))) + "\n").encode())
        return state.hexdigest()

    @cached_property
    def accepts(self) -> BoolArray:
        """Shape (target, source): which source classes count as right for which target class."""
        table = np.zeros((len(self.target), len(self.source)), dtype=bool)
        for row, entry in enumerate(self.sources):
            table[row, list(entry)] = True
        return table

    @property
    def mapped(self) -> IntArray:
        """The source classes that stand for any target class, ascending."""
        return np.flatnonzero(self.accepts.any(axis=0))

    @property
    def scorable(self) -> BoolArray:
        """Shape (target,): which target classes have a source class at all."""
        return np.asarray(self.accepts.any(axis=1))


def subset_map(source: ClassSpace, target: ClassSpace) -> ClassMap:
    """The map onto a space of some of the source's own classes, scored within them."""
    return ClassMap(source, target, tuple((source.index(class_id),) for class_id in target.ids), MapRule.WITHIN_MAPPED)
