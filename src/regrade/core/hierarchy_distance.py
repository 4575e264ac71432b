"""Distances between classes in their hierarchy, in all definitions in use.

Vasudevan et al. 2022 print distances without a definition, and no variant reproduces all of
their figures; so each variant has a name, to be shown with every figure.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache

import numpy as np

from regrade.core.arrays import IntArray
from regrade.core.class_space import ClassSpace, Hierarchy
from regrade.core.errors import UndefinedError


class Steps(Enum):
    """How the numbers of steps from two classes up to a common ancestor are combined."""

    MAX = "max steps"
    MIN = "min steps"
    SUM = "sum of steps"
    SUM_MINUS_ONE = "sum of steps minus one"


class Paths(Enum):
    """Which hypernym paths count: all of them, or each concept's first parent only."""

    ALL = "all paths"
    FIRST = "first path"


UNRELATED = np.iinfo(np.int16).max
"""The distance between two classes without a common ancestor."""


def hierarchy_distances(space: ClassSpace, *, steps: Steps = Steps.MAX, paths: Paths = Paths.ALL) -> IntArray:
    """The distances between all pairs of classes, shape (c, c): the minimum over common ancestors.

    Zero on the diagonal; `UNRELATED` for classes without a common ancestor. With the default, max
    steps, siblings have distance 1 and classes with a common grandparent distance 2.
    """
    if space.hierarchy is None:
        raise UndefinedError(f"class space {space.name!r} has no hierarchy, so distances are undefined")
    return _distances(space.ids, space.hierarchy, steps, paths)


@lru_cache(maxsize=16)
def _distances(ids: tuple[str, ...], hierarchy: Hierarchy, steps: Steps, paths: Paths) -> IntArray:
    above = _steps_to_ancestors(ids, hierarchy, paths)
    distances = np.full((len(ids), len(ids)), UNRELATED, dtype=np.int16)
    for members, heights in above.values():
        through = _combined(heights[:, None], heights[None, :], steps)
        block = np.ix_(members, members)
        distances[block] = np.minimum(distances[block], through)
    np.fill_diagonal(distances, 0)
    distances.setflags(write=False)
    return distances


def _steps_to_ancestors(
    ids: tuple[str, ...], hierarchy: Hierarchy, paths: Paths
) -> dict[str, tuple[IntArray, IntArray]]:
    """For each concept, the classes below it and their numbers of steps up to it."""
    climb = hierarchy.ancestors if paths is Paths.ALL else hierarchy.first_path_ancestors
    below: dict[str, list[tuple[int, int]]] = {}
    for index, class_id in enumerate(ids):
        for concept, height in climb(class_id).items():
            below.setdefault(concept, []).append((index, height))
    return {
        concept: (np.array([i for i, _ in pairs]), np.array([h for _, h in pairs], dtype=np.int16))
        for concept, pairs in below.items()
    }


def _combined(first: IntArray, second: IntArray, steps: Steps) -> IntArray:
    match steps:
        case Steps.MAX:
            return np.maximum(first, second)
        case Steps.MIN:
            return np.minimum(first, second)
        case Steps.SUM:
            return first + second
        case Steps.SUM_MINUS_ONE:
            return first + second - 1
