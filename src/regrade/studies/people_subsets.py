"""The parts of the images on which people and models are held against each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regrade.core import ClassSpace, InputError, UnknownName
from regrade.core.arrays import BoolArray, FloatArray, IntArray

USUAL = ("without dogs", "objects", "organisms")
"""The subsets of Shankar et al. 2020, by the group that an image's own label is in."""
_WITHOUT = "without "


@dataclass(frozen=True, eq=False)
class Subset:
    """Some of n images, ``inside`` (n,); ``classes`` are those it is made of, none where it is not made of classes."""

    name: str
    inside: BoolArray
    classes: IntArray | None = None

    @property
    def images(self) -> int:
        """How many images it has."""
        return int(self.inside.sum())


def class_subsets(space: ClassSpace, labels: IntArray, names: Sequence[str] | None) -> list[Subset]:
    """Images by the group of their own label (n,): ``objects``, or all but a group: ``without dogs``.

    Without names the usual ones are taken, as far as the class space knows their groups and the images have any. An
    unknown group or an empty subset that was named raises.
    """
    wanted = [name for name in USUAL if _group_of(name) in space.groups] if names is None else names
    found = [_class_subset(space, labels, name) for name in wanted]
    if names is not None and (empty := next((part for part in found if not part.images), None)):
        raise InputError(f"no image is in the subset {empty.name!r}")
    return [part for part in found if part.images]


def fast_subset(seconds: FloatArray, limit: float) -> Subset:
    """Images (n,) on which the median person spent at most ``limit`` seconds; not a number is no fast one."""
    return Subset(f"fast (at most {limit:g} s)", seconds <= limit)


def _class_subset(space: ClassSpace, labels: IntArray, name: str) -> Subset:
    try:
        classes: IntArray = space.group(_group_of(name))
    except UnknownName:
        raise UnknownName(f"group of {space.name}", name, [*space.groups]) from None
    if name.startswith(_WITHOUT):
        classes = np.setdiff1d(np.arange(len(space)), classes)
    return Subset(name, np.isin(labels, classes), classes)


def _group_of(name: str) -> str:
    return name.removeprefix(_WITHOUT)
