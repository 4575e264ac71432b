"""The positions of images in a test set, by id with or without the file extension."""

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
from regrade.tables.id_matching import stem


@dataclass(frozen=True)
class ExamplePositions:
    """Finds the positions of examples in a test set by id, with or without the file extension."""

    test_set: TestSet

    def of(self, image: str) -> int | None:
        """The position of an image by its id, or else by its id without extension; None if it is not found."""
        return self.test_set.position_of.get(image, self._by_stem.get(stem(image)))

    def of_all(self, images: Sequence[str], path: Path) -> IntArray:
        """Shape (n,): the positions of images; raise if one is not in the test set."""
        positions = [self.of(image) for image in images]
        unknown = [image for image, position in zip(images, positions, strict=True) if position is None]
        if unknown:
            raise MismatchError(
                f"{path} contains {amount(len(unknown), 'image')} not in test set {self.test_set.name}, for instance "
                f"{unknown[0]!r} (the test set has {self.test_set.ids[0]!r}, ...)"
            )
        return np.array(positions, dtype=np.int64)

    @cached_property
    def _by_stem(self) -> dict[str, int]:
        """Positions by id without extension, where that is unambiguous."""
        stems = [stem(example) for example in self.test_set.ids]
        counts = Counter(stems)
        return {stem: position for position, stem in enumerate(stems) if counts[stem] == 1}
