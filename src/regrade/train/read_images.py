"""Read all images of a stored test set into memory, at the size of a network's input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regrade.core import Images, ImageSource, InputError, Preprocessing, TestSet, UnreadableImage
from regrade.core.cores import on_all_cores
from regrade.core.images import UNKNOWN_STAMP, Fingerprints, no_fingerprints
from regrade.models import crop_and_resize, fastest_resizer
from regrade.neighbors import pixel_hash
from regrade.store import Store
from regrade.testsets import decode_pixels, open_images
from regrade.testsets.check import content_digest


@dataclass(frozen=True, eq=False)
class DecodedImages:
    """The images of a test set: bytes (n, size, size, channels), and a hash of the pixels of each before resizing.

    ``fingerprints`` (n,) are those of the stored images; ``in_color`` is the number of images that are in color.
    """

    pixels: NDArray[np.uint8]
    hashes: tuple[bytes, ...]
    fingerprints: Fingerprints
    in_color: int = 0

    def __len__(self) -> int:
        return len(self.pixels)


@dataclass(frozen=True)
class _Reader:
    """Decodes the images of one test set."""

    test_set: TestSet
    source: ImageSource
    images: Images

    @classmethod
    def of(cls, store: Store, test_set: TestSet) -> _Reader:
        source = store.images.read(test_set)
        if not source.path.exists():
            raise InputError(f"the images of {test_set.name} are no longer at {source.path}: bring them back")
        return cls(test_set, source, open_images(source))

    def pixels(self, position: int) -> NDArray[np.uint8]:
        """The pixels of an image; gray images have two dimensions."""
        return self.read(position)[0]

    def read(self, position: int) -> tuple[NDArray[np.uint8], tuple[int, int, int]]:
        """The pixels of an image, and the fields of its fingerprint."""
        stamp = self.images.stamp(position)  # before the content, so that a later change is noticed
        try:
            stored = self.images.stored(position)
            image = self.images.rendered(position, stored)
            pixels = decode_pixels(image, orientation=self.source.orientation, border=self.source.border)
            return pixels, (content_digest(stored), *(stamp or UNKNOWN_STAMP))
        except UnreadableImage as error:
            raise InputError(
                f"image {self.test_set.ids[position]!r} of {self.test_set.name} cannot be read: {error}"
            ) from None


def read_images(
    store: Store, test_set: TestSet, preprocessing: Preprocessing, positions: Sequence[int] | None = None
) -> DecodedImages:
    """The images of a test set (default: all of them); one that cannot be read raises, since each needs scores."""
    reader = _Reader.of(store, test_set)
    chosen = range(len(test_set)) if positions is None else positions
    shape = (len(chosen), preprocessing.size, preprocessing.size, preprocessing.channels)
    pixels = np.empty(shape, dtype=np.uint8)
    hashes, in_color = [], 0
    fingerprints = no_fingerprints(len(chosen))
    resizer = fastest_resizer()

    def decode(row: int) -> tuple[bytes, bool]:
        image, fingerprints[row] = reader.read(chosen[row])
        pixels[row] = crop_and_resize(image, preprocessing, resizer)
        has_color = image.ndim == 3
        return pixel_hash(image if has_color else np.repeat(image[..., None], 3, axis=2)), has_color

    for content, has_color in on_all_cores(decode, range(len(chosen))):
        hashes.append(content)
        in_color += has_color
    return DecodedImages(pixels, tuple(hashes), fingerprints, in_color)


def image_shape(store: Store, test_set: TestSet, *, needs_square: bool) -> tuple[int, int]:
    """The size and the channels of the first image; raise if it is not a square and ``needs_square``."""
    pixels = _Reader.of(store, test_set).pixels(0)
    height, width = pixels.shape[:2]
    if needs_square and height != width:
        raise InputError(f"the first image of {test_set.name} is {width} x {height} pixels: give --size")
    return height, 3 if pixels.ndim == 3 else 1
