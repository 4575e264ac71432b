"""Images by addresses that do not tell which test set, class or file they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from io import BytesIO
from zlib import crc32

import numpy as np

from regrade.app.opaque import conceal, reveal
from regrade.core import Images, ImageSource, TestSet, UnknownName
from regrade.store import Store
from regrade.testsets import decode_gray_or_rgb, open_images

SIDES = (160, 320, 640)
"""The sides that a image can be asked for in, in pixels; without one it comes in its own size."""

_LARGEST = 2048  # pixels along the longer side of a image in its own size
_KEPT = 512  # small images kept in memory


@dataclass(frozen=True)
class DisplayImage:
    """A image as a browser takes it."""

    content: bytes
    media_type: str


class ImageCache:
    """The images of a workspace's test sets, as a browser asks for them."""

    def __init__(self, store: Store, key: bytes, *, test_set: Callable[[str], TestSet]) -> None:
        self._store = store
        self._key = key
        self._test_set = test_set
        self._small = lru_cache(_KEPT)(self._drawn)
        self._opened = lru_cache(64)(self._open)

    def address(self, test_set: str, position: int) -> str | None:
        """Where a image is found, or none where the test set has no images."""
        if not self._store.has_images(test_set):
            return None
        return f"/images/{conceal(self._key, _number(test_set), position)}"

    def address_in_queue(self, test_set: str, position: int, queue_id: int) -> str | None:
        """Where those who are asked find an image: another address in every queue, and never that of Explore."""
        if not self._store.has_images(test_set):
            return None
        return f"/images/{queue_id}/{conceal(self._key_of(queue_id), _number(test_set), position)}"

    def shown(self, word: str, side: int | None, *, queue_id: int | None = None) -> DisplayImage:
        """A image by the last part of its address, in its own size or shrunk to a side."""
        found = reveal(self._key if queue_id is None else self._key_of(queue_id), word)
        test_set = None if found is None else self._named(found[0])
        if found is None or test_set is None:
            raise UnknownName("image", word, None)
        return self._drawn(test_set, found[1], None) if side is None else self._small(test_set, found[1], side)

    def references(self, class_space: str, class_index: int, *, but: frozenset[str]) -> Iterator[tuple[str, int]]:
        """Images of a class in test sets other than ``but``, with their places, in a mixed but fixed order.

        The sets that people are asked about are left out: they would give their own answers away.
        """
        for name in self._store.test_set_names():
            if name in but or not self._store.has_images(name):
                continue
            test_set = self._test_set(name)
            if test_set.class_space.name != class_space:
                continue
            places = np.flatnonzero(test_set.labels == class_index)
            for place in np.random.default_rng(class_index).permutation(places):
                yield name, int(place)

    def _key_of(self, queue_id: int) -> bytes:
        return blake2b(f"queue {queue_id}".encode(), digest_size=32, key=self._key).digest()

    def _named(self, number: int) -> str | None:
        return next((name for name in self._store.test_set_names() if _number(name) == number), None)

    def _open(self, test_set: str) -> tuple[ImageSource, Images]:
        source = self._store.images(self._test_set(test_set))
        return source, open_images(source)

    def _drawn(self, test_set: str, position: int, side: int | None) -> DisplayImage:
        source, images = self._opened(test_set)
        if position >= len(source.locations):
            raise UnknownName("image", str(position), None)
        image = decode_gray_or_rgb(images.read(position), orientation=source.orientation, border=source.border)
        image.thumbnail((side or _LARGEST,) * 2)
        image = image.convert("RGB")
        file = BytesIO()
        if max(image.size) <= _SMALLEST_JPEG:
            image.save(file, "PNG")
            return DisplayImage(file.getvalue(), "image/png")
        image.save(file, "JPEG", quality=90)
        return DisplayImage(file.getvalue(), "image/jpeg")


_SMALLEST_JPEG = 64  # pixels up to which a image comes as it is, since every one of them is seen


def _number(test_set: str) -> int:
    return crc32(test_set.encode())
