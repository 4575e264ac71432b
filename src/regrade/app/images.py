"""Images behind opaque URLs, which reveal neither the test set nor the class nor the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from io import BytesIO
from zlib import crc32

import numpy as np

from regrade.app.opaque_ids import decode_opaque_id, encode_opaque_id
from regrade.core import Images, ImageSource, TestSet, UnknownName
from regrade.store import Store
from regrade.testsets import decode_gray_or_rgb, open_images

SIDES = (160, 320, 640)
"""Thumbnail sizes in pixels, along the longer side."""

_MAX_SIDE = 2048  # pixels along the longer side of a full-size image
_CACHED_THUMBNAILS = 512


@dataclass(frozen=True)
class DisplayImage:
    """An encoded image for the browser."""

    content: bytes
    media_type: str


class ImageCache:
    """The images of a workspace's test sets, encoded for the browser."""

    def __init__(self, store: Store, key: bytes, *, test_set: Callable[[str], TestSet]) -> None:
        self._store = store
        self._key = key
        self._test_set = test_set
        self._thumbnail = lru_cache(_CACHED_THUMBNAILS)(self._render)
        self._opened = lru_cache(64)(self._open)

    def address(self, test_set: str, position: int) -> str | None:
        """The URL of an image, or None if the test set has no images."""
        if not self._store.has_images(test_set):
            return None
        return f"/images/{encode_opaque_id(self._key, _number(test_set), position)}"

    def address_in_queue(self, test_set: str, position: int, queue_id: int) -> str | None:
        """The URL of an image for the people who work on a queue: different in every queue and in Explore."""
        if not self._store.has_images(test_set):
            return None
        return f"/images/{queue_id}/{encode_opaque_id(self._key_of(queue_id), _number(test_set), position)}"

    def get(self, opaque_id: str, side: int | None, *, queue_id: int | None = None) -> DisplayImage:
        """An image by the last part of its URL, in full size or as a thumbnail."""
        numbers = decode_opaque_id(self._key if queue_id is None else self._key_of(queue_id), opaque_id)
        test_set = None if numbers is None else self._named(numbers[0])
        if numbers is None or test_set is None:
            raise UnknownName("image", opaque_id, None)
        position = numbers[1]
        return self._render(test_set, position, None) if side is None else self._thumbnail(test_set, position, side)

    def references(self, class_space: str, class_index: int, *, excluded: frozenset[str]) -> Iterator[tuple[str, int]]:
        """Images of a class as (test set, position), in a shuffled but fixed order, without test sets ``excluded``.

        Callers exclude the test sets that people are asked about, which would reveal their own answers.
        """
        for name in self._store.test_set_names():
            if name in excluded or not self._store.has_images(name):
                continue
            test_set = self._test_set(name)
            if test_set.class_space.name != class_space:
                continue
            positions = np.flatnonzero(test_set.labels == class_index)
            for position in np.random.default_rng(class_index).permutation(positions):
                yield name, int(position)

    def _key_of(self, queue_id: int) -> bytes:
        return blake2b(f"queue {queue_id}".encode(), digest_size=32, key=self._key).digest()

    def _named(self, number: int) -> str | None:
        return next((name for name in self._store.test_set_names() if _number(name) == number), None)

    def _open(self, test_set: str) -> tuple[ImageSource, Images]:
        source = self._store.images(self._test_set(test_set))
        return source, open_images(source)

    def _render(self, test_set: str, position: int, side: int | None) -> DisplayImage:
        source, images = self._opened(test_set)
        if position >= len(source.locations):
            raise UnknownName("image", str(position), None)
        image = decode_gray_or_rgb(images.read(position), orientation=source.orientation, border=source.border)
        image.thumbnail((side or _MAX_SIDE,) * 2)
        image = image.convert("RGB")
        file = BytesIO()
        if max(image.size) <= _LARGEST_PNG:
            image.save(file, "PNG")
            return DisplayImage(file.getvalue(), "image/png")
        image.save(file, "JPEG", quality=90)
        return DisplayImage(file.getvalue(), "image/jpeg")


_LARGEST_PNG = 64  # pixels; images up to this size are sent without loss, since every pixel is visible


def _number(test_set: str) -> int:
    return crc32(test_set.encode())
