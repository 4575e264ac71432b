"""Images to search among: their signatures, and a way to see one again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from regrade.core import Signatures
from regrade.neighbors.scaling import scaled
from regrade.neighbors.ssim import WINDOW, WindowMoments, window_moments

_REMEMBERED = 24  # images with the moments of their windows: some 4 MB each


@dataclass(frozen=True, eq=False)
class Collection:
    """The signatures of images, and ``image``, which decodes the one at a position once more.

    Only candidates are seen again; one that cannot be read any longer raises `UnreadableImage`.
    """

    signatures: Signatures
    image: Callable[[int], NDArray[np.uint8]]
    _moments: Callable[[int, bool], WindowMoments] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_moments", lru_cache(_REMEMBERED)(self._computed))

    def __len__(self) -> int:
        return len(self.signatures)

    def moments(self, position: int, *, mirrored: bool = False) -> WindowMoments:
        """The image at a position at the common size, or its mirror image, ready for comparisons."""
        return self._moments(position, mirrored)

    def _computed(self, position: int, mirrored: bool) -> WindowMoments:
        square = scaled(self.image(position), self.signatures.size)
        return window_moments(square[:, ::-1] if mirrored else square, window=min(WINDOW, self.signatures.size))
