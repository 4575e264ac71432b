"""The subsets of images on which people and models are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regrade.core import ClassSpace, InputError, UnknownName
from regrade.core.arrays import BoolArray, FloatArray, IntArray

DEFAULT_SUBSETS = ("without dogs", "objects", "organisms")
"""The subsets of Shankar et al. 2020, by the group of an image's original label."""
_WITHOUT = "without "


@dataclass(frozen=True, eq=False)
class Subset:
    """A subset ``inside`` (n,) of the images; ``classes`` are the classes that define it, None if it has none."""

    name: str
    inside: BoolArray
    classes: IntArray | None = None

    @property
    def images(self) -> int:
        """The number of images in the subset."""
        return int(self.inside.sum())


def class_subsets(space: ClassSpace, labels: IntArray, names: Sequence[str] | None) -> list[Subset]:
    """Images by the group of their original label (n,): ``objects``, or all but a group: ``without dogs``.

    Without names, the default subsets are used whose groups the class space has and that are not empty. An unknown
    group or a named subset that is empty raises.
    """
    if names is None:
        names = [name for name in DEFAULT_SUBSETS if _group_of(name) in space.groups]
        return [subset for name in names if (subset := _class_subset(space, labels, name)).images]
    subsets = [_class_subset(space, labels, name) for name in names]
    if empty := next((subset for subset in subsets if not subset.images), None):
        raise InputError(f"no image is in the subset {empty.name!r}")
    return subsets


def fast_subset(seconds: FloatArray, limit: float) -> Subset:
    """Images (n,) on which the median person spent at most ``limit`` seconds; NaN is not fast."""
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
