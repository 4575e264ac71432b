"""The source of the images of a test set, and the interface to read them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

StoredImage = bytes | NDArray[np.uint8]
"""A stored image: an encoded file, or pixels of shape (height, width) or (height, width, 3)."""

FINGERPRINT = np.dtype([("digest", "<u8"), ("size", "<i8"), ("modified", "<i8")])
"""The first bytes of a hash of the content, and size and modification time of the file (-1 if unknown)."""

Fingerprints = NDArray[np.void]
"""Shape (n,), of type `FINGERPRINT`: one per image."""


class Orientation(Enum):
    """How the EXIF orientation of images is handled."""

    UPRIGHT = "upright"
    """Images are rotated by their EXIF orientation."""

    AS_STORED = "as stored"
    """The EXIF orientation is ignored, as in the usual ImageNet pipelines."""


@dataclass(frozen=True)
class ImageSource:
    """The source of images: the name of the reader, the folder or file, and the location of each image in it.

    ``locations`` (n,) are in the order of the test set; their meaning depends on the reader (a path below the root, a
    row, an offset). ``border`` pixels are cropped on every side first.

    A ``root`` inside a workspace is relative to it, so that the workspace can be moved; ``base`` is the current folder
    of the workspace, and is ignored in comparisons.
    """

    reader: str
    root: str
    locations: Sequence[str]
    orientation: Orientation = Orientation.UPRIGHT
    border: int = 0
    base: str = field(default="", compare=False, repr=False)

    @property
    def path(self) -> Path:
        """The folder or file that contains the images."""
        return Path(self.base, self.root)


class FileStamp(NamedTuple):
    """Size in bytes and modification time in nanoseconds of a file; equal stamps mean an unchanged file."""

    size: int
    modified: int


class Images(ABC):
    """The images of a test set by position; safe to read from several threads."""

    @abstractmethod
    def read(self, position: int) -> StoredImage:
        """The stored image at a position; raise `UnreadableImage` if it cannot be read."""

    def stored(self, position: int) -> StoredImage:
        """The stored content from which `rendered` computes the image; by default the image itself."""
        return self.read(position)

    def rendered(self, position: int, stored: StoredImage) -> StoredImage:  # noqa: ARG002
        """The image computed from the stored content, as `read` returns it."""
        return stored

    def stamp(self, position: int) -> FileStamp | None:  # noqa: ARG002
        """The stamp of the file that contains an image; None if unknown."""
        return None


UNKNOWN_STAMP = FileStamp(-1, -1)
"""The stamp of a file with unknown size and modification time."""


def no_fingerprints(count: int) -> Fingerprints:
    """Fingerprints of images that were not read."""
    return np.full(count, np.array((0, *UNKNOWN_STAMP), dtype=FINGERPRINT))
