"""Where the images that a file names stand in a test set: by id, with or without a image's file ending."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from regrade.core import MismatchError, TestSet
from regrade.core.amounts import amount
from regrade.core.arrays import IntArray

_ENDINGS = ("jpeg", "jpg", "png", "webp")


@dataclass(frozen=True)
class ExamplePositions:
    """The positions of a test set's examples by what files call them."""

    test_set: TestSet

    def of(self, image: str) -> int | None:
        """The position of an image, by its id or else by the id without an ending; none if it is not there."""
        return self.test_set.position_of.get(image, self._by_stem.get(_stem(image)))

    def of_all(self, images: Sequence[str], path: Path) -> IntArray:
        """Shape (n,): the positions of the images that a file names; an image that is not in the test set raises."""
        found = [self.of(image) for image in images]
        strangers = [image for image, place in zip(images, found, strict=True) if place is None]
        if strangers:
            raise MismatchError(
                f"{path} names {amount(len(strangers), 'image')} not in test set {self.test_set.name}, for instance "
                f"{strangers[0]!r} (there it is {self.test_set.ids[0]!r}, ...)"
            )
        return np.array(found, dtype=np.int64)

    @cached_property
    def _by_stem(self) -> dict[str, int]:
        """Positions by id without an ending, as far as that tells the examples apart."""
        stems = [_stem(example) for example in self.test_set.ids]
        counts = Counter(stems)
        return {stem: position for position, stem in enumerate(stems) if counts[stem] == 1}


def _stem(image: str) -> str:
    name, dot, ending = image.rpartition(".")
    return name if dot and ending.lower() in _ENDINGS else image
