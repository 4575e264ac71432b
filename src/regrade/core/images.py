"""Where the images of a test set are, and how one gets at them."""

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
"""A image as it is stored: an encoded file, or pixels (height, width) or (height, width, 3)."""


class Orientation(Enum):
    """What becomes of a camera's note on how it was held."""

    UPRIGHT = "upright"
    """The image is turned as the note says."""

    AS_STORED = "as stored"
    """The note is passed over, as the usual ImageNet pipelines do."""


@dataclass(frozen=True)
class ImageSource:
    """Where images are: the reader that knows the form, the folder or file, and each example's place in it.

    ``locations`` (n,) follow the test set's order; what they mean is the reader's affair (a path below the root, a
    row, an offset). ``border`` pixels are cut off on every side before anything else is done.

    A ``root`` inside a workspace is relative to it, so that a workspace can be moved and copied as a whole; ``base`` is
    where the workspace is now, and no part of what the source is.
    """

    reader: str
    root: str
    locations: Sequence[str]
    orientation: Orientation = Orientation.UPRIGHT
    border: int = 0
    base: str = field(default="", compare=False, repr=False)

    @property
    def path(self) -> Path:
        """The folder or file that holds the images."""
        return Path(self.base, self.root)


class FileStamp(NamedTuple):
    """Size in bytes and time of the last change, in nanoseconds, of a file: equal stamps mean an unchanged file."""

    size: int
    modified: int


class Images(ABC):
    """The images of a test set by position, readable from many threads at once."""

    @abstractmethod
    def read(self, position: int) -> StoredImage:
        """One image as it is stored; one that is not there raises `UnreadableImage`."""

    def stored(self, position: int) -> StoredImage:
        """The stored content that an image is made from: the image itself, unless `rendered` computes it."""
        return self.read(position)

    def rendered(self, position: int, stored: StoredImage) -> StoredImage:  # noqa: ARG002
        """The image that is made from the stored content: what `read` returns."""
        return stored

    def stamp(self, position: int) -> FileStamp | None:  # noqa: ARG002
        """The stamp of the file that holds an image; None where the reader cannot tell."""
        return None
