"""Where the images that a file names stand in a test set: by id, with or without a picture's file ending."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from regrade.core import TestSet

_ENDINGS = ("jpeg", "jpg", "png", "webp")


@dataclass(frozen=True)
class Places:
    """The positions of a test set's examples by what files call them."""

    test_set: TestSet

    def of(self, image: str) -> int | None:
        """The position of an image, by its id or else by the id without an ending; none if it is not there."""
        return self.test_set.position_of.get(image, self._by_stem.get(_stem(image)))

    @cached_property
    def _by_stem(self) -> dict[str, int]:
        """Positions by id without an ending, as far as that tells the examples apart."""
        stems = [_stem(example) for example in self.test_set.ids]
        counts = Counter(stems)
        return {stem: position for position, stem in enumerate(stems) if counts[stem] == 1}


def _stem(image: str) -> str:
    name, dot, ending = image.rpartition(".")
    return name if dot and ending.lower() in _ENDINGS else image
