"""One slice of a test set, for analyses that are restricted to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regrade.core import InputError, TestSet
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray


@dataclass(frozen=True, eq=False)
class ImageSlice:
    """The images of a slice, as ``inside`` (n,), and its name."""

    name: str
    inside: BoolArray

    @property
    def images(self) -> int:
        """Number of images in the slice."""
        return int(self.inside.sum())

    def check_scored(self, scored: BoolArray, labels: str) -> None:
        """Raise if labels score no image of the slice."""
        if not (self.inside & scored).any():
            raise InputError(f"{labels} scores none of the {amount(self.images, 'image')} of slice {self.name!r}")


def image_slices(test_set: TestSet, names: Sequence[str]) -> tuple[ImageSlice, ...]:
    """The slices of several names, in their order; the name of a group column stands for all its values."""
    parts = dict.fromkeys(part for name in names for part in test_set.slices_of(name))
    return tuple(image_slice(test_set, part) for part in parts)


def image_slice(test_set: TestSet, name: str) -> ImageSlice:
    """A slice by name; one without images raises."""
    inside = test_set.slice(name)
    if not inside.any():
        raise InputError(f"slice {name!r} of {test_set.name} contains no images")
    return ImageSlice(name, inside)
