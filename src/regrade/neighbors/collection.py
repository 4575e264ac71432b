"""Images to search: their signatures, and a function that decodes them again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from regrade.core import Signatures
from regrade.neighbors.scaling import scaled
from regrade.neighbors.ssim import WINDOW, WindowMoments, window_moments

_CACHED = 24  # images with their window moments, about 4 MB each


@dataclass(frozen=True, eq=False)
class ImageCollection:
    """The signatures of images, and ``image``, which decodes the image at a position.

    Only candidates are decoded again; ``image`` raises `UnreadableImage` for one that can no longer be read.
    """

    signatures: Signatures
    image: Callable[[int], NDArray[np.uint8]]
    _moments: Callable[[int, bool], WindowMoments] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_moments", lru_cache(_CACHED)(self._compute))

    def __len__(self) -> int:
        return len(self.signatures)

    def moments(self, position: int, *, mirrored: bool = False) -> WindowMoments:
        """The window moments of the image at a position, or of its mirror image, at the common size."""
        return self._moments(position, mirrored)

    def _compute(self, position: int, mirrored: bool) -> WindowMoments:
        square = scaled(self.image(position), self.signatures.size)
        return window_moments(square[:, ::-1] if mirrored else square, window=min(WINDOW, self.signatures.size))
