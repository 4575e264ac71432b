"""Images for the browser: opaque URLs, which reveal neither test set nor class nor file, thumbnails, and failures."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from io import BytesIO
from struct import error as StructError  # noqa: N812
from struct import pack, unpack
from threading import Lock
from zlib import crc32

import numpy as np

from regrade.app.cache import RecentCache
from regrade.core import ChangedImage, Images, ImageSource, RegradeError, TestSet, UnknownName
from regrade.ledger import Items, Person, Question, Queue
from regrade.neighbors import pixel_hash
from regrade.store import Store
from regrade.testsets import decode_gray_or_rgb, open_images, pixels_of

SIDES = (160, 320, 640)
"""Thumbnail sizes in pixels, along the longer side."""

_MAX_SIDE = 2048  # pixels along the longer side of a full-size image
_CACHED_THUMBNAILS = 512
_FEISTEL_ROUNDS = 4  # of a Feistel network: without the key it cannot be told from a random permutation
_OPAQUE_ID_SIZE = 22  # characters
_MAX_FAILURES = 10_000  # the newest are remembered
_LARGEST_PNG = 64  # pixels; images up to this size are sent without loss, since every pixel is visible


@dataclass(frozen=True)
class DisplayImage:
    """An encoded image for the browser."""

    content: bytes
    media_type: str


class ImageCache:
    """The images of a workspace's test sets, encoded for the browser."""

    def __init__(self, store: Store, items: Items, key: bytes, *, test_set: Callable[[str], TestSet]) -> None:
        self._store = store
        self._items = items
        self._key = key
        self._test_set = test_set
        self._thumbnails: RecentCache[DisplayImage] = RecentCache(_CACHED_THUMBNAILS)
        self._opened: RecentCache[tuple[ImageSource, Images]] = RecentCache(64)

    def address(self, test_set: str, position: int) -> str | None:
        """The URL of an image, or None if the test set has no images."""
        if not self._store.images.has(test_set):
            return None
        return f"/images/{encode_opaque_id(self._key, _number(test_set), position)}"

    def address_in_queue(self, test_set: str, position: int, queue_id: int) -> str | None:
        """The URL of an image for the people who work on a queue: different in every queue and in Explore."""
        if not self._store.images.has(test_set):
            return None
        return f"/images/{queue_id}/{encode_opaque_id(self._key_of(queue_id), _number(test_set), position)}"

    def get(self, opaque_id: str, side: int | None) -> DisplayImage:
        """An image by the last part of its URL, in full size or as a thumbnail."""
        test_set, position = self.place_of(opaque_id)
        return self._shown(test_set, position, side, content=None)

    def get_in_queue(self, queue: Queue, opaque_id: str, side: int | None) -> DisplayImage:
        """An image of a queue; raises if it is not the one that was queued, as far as the queue has its hash."""
        test_set, position = self.place_of(opaque_id, queue_id=queue.id)
        is_own = test_set == queue.test_set or queue.question is Question.LABEL  # not the second one of a pair
        example = self._test_set(test_set).ids[position]
        content = self._items.content_of(queue, example, test_set=test_set) if is_own else None
        return self._shown(test_set, position, side, content=content)

    def place_of(self, opaque_id: str, *, queue_id: int | None = None) -> tuple[str, int]:
        """The test set and the position of an image by the last part of its URL, in a queue or outside of queues."""
        return self._decoded(self._key if queue_id is None else self._key_of(queue_id), opaque_id)

    def opaque_id(self, place: str, test_set: str, position: int) -> str:
        """An id of an image that differs between places and reveals nothing."""
        return encode_opaque_id(self._key_for(place), _number(test_set), position)

    def located(self, place: str, opaque_id: str) -> tuple[str, int]:
        """The test set and the position of an image by its id at a place."""
        return self._decoded(self._key_for(place), opaque_id)

    def thumbnail(self, test_set: str, position: int, side: int) -> DisplayImage:
        """An image of a test set."""
        return self._shown(test_set, position, side, content=None)

    def _decoded(self, key: bytes, opaque_id: str) -> tuple[str, int]:
        """The test set and the position of an image."""
        numbers = decode_opaque_id(key, opaque_id)
        test_set = None if numbers is None else self._named(numbers[0])
        if numbers is None or test_set is None or numbers[1] >= len(self._test_set(test_set)):
            raise UnknownName("image", opaque_id, None)
        return test_set, numbers[1]

    def _shown(self, test_set: str, position: int, side: int | None, *, content: str | None) -> DisplayImage:
        if side is None:
            return self._render(test_set, position, None, content)
        key = (test_set, position, side, content)
        return self._thumbnails.get(key, lambda: self._render(test_set, position, side, content))

    def prepare(self, test_sets: Sequence[str]) -> None:
        """Open the images of some test sets, so that the time of the first one does not reveal its test set."""
        for name in test_sets:
            if self._store.images.has(name):
                with suppress(RegradeError, OSError):  # the request for an image says so
                    self._opened.get(name, partial(self._open, name))

    def references(self, class_space: str, class_index: int, *, sets: Sequence[str]) -> Iterator[tuple[str, int]]:
        """Images of a class as (test set, position): test set by test set, each in a shuffled but fixed order."""
        for name in sets:
            if not self._store.images.has(name):
                continue
            test_set = self._test_set(name)
            if test_set.class_space.name != class_space:
                continue
            positions = np.flatnonzero(test_set.labels == class_index)
            for position in np.random.default_rng(class_index).permutation(positions):
                yield name, int(position)

    def _key_of(self, queue_id: int) -> bytes:
        return self._key_for(f"queue {queue_id}")

    def _key_for(self, place: str) -> bytes:
        return blake2b(place.encode(), digest_size=32, key=self._key).digest()

    def _named(self, number: int) -> str | None:
        return next((name for name in self._store.test_sets.names() if _number(name) == number), None)

    def _open(self, test_set: str) -> tuple[ImageSource, Images]:
        source = self._store.images.read(self._test_set(test_set))
        return source, open_images(source)

    def _render(self, test_set: str, position: int, side: int | None, content: str | None) -> DisplayImage:
        """The encoded image; raises if ``content``, the hash of its pixels, is given and another one."""
        source, images = self._opened.get(test_set, lambda: self._open(test_set))
        if position >= len(source.locations):
            raise UnknownName("image", str(position), None)
        image = decode_gray_or_rgb(images.read(position), orientation=source.orientation, border=source.border)
        if content is not None and pixel_hash(pixels_of(image.convert("RGB"))).hex() != content:
            raise ChangedImage("this image has changed since it was queued")
        image.thumbnail((side or _MAX_SIDE,) * 2)
        image = image.convert("RGB")
        file = BytesIO()
        if max(image.size) <= _LARGEST_PNG:
            image.save(file, "PNG")
            return DisplayImage(file.getvalue(), "image/png")
        image.save(file, "JPEG", quality=90)
        return DisplayImage(file.getvalue(), "image/jpeg")


def _number(test_set: str) -> int:
    return crc32(test_set.encode())


class UnseenImages:
    """The images that could not be shown to a person at their last request, by URL."""

    def __init__(self) -> None:
        self._failed: OrderedDict[tuple[int, str], None] = OrderedDict()
        self._lock = Lock()

    @contextmanager
    def track(self, person: Person, address: str) -> Iterator[None]:
        """Remember whether the image at a URL can be shown to a person."""
        shown = False
        try:
            yield
            shown = True
        finally:
            with self._lock:
                self._failed.pop((person.id, address), None)
                if not shown:
                    self._failed[person.id, address] = None
                    if len(self._failed) > _MAX_FAILURES:
                        self._failed.popitem(last=False)

    def has(self, person: Person, address: str) -> bool:
        """Whether the image at a URL could not be shown to a person."""
        with self._lock:
            return (person.id, address) in self._failed


def encode_opaque_id(key: bytes, kind: int, number: int) -> str:
    """Return the opaque id of two numbers below 2**32; the same numbers and key give the same id."""
    left, right = pack(">II", kind, number), bytes(8)
    for round_number in range(_FEISTEL_ROUNDS):
        left, right = right, _mix(left, right, key, round_number)
    return urlsafe_b64encode(left + right).decode().rstrip("=")


def decode_opaque_id(key: bytes, opaque_id: str) -> tuple[int, int] | None:
    """Return the two numbers of an opaque id, or None if it was not made with this key."""
    try:
        both = urlsafe_b64decode(opaque_id.encode() + b"==") if len(opaque_id) == _OPAQUE_ID_SIZE else b""
        left, right = both[:8], both[8:]
        for round_number in reversed(range(_FEISTEL_ROUNDS)):
            left, right = _mix(right, left, key, round_number), left
        kind, number = unpack(">II", left)
    except (ValueError, StructError):
        return None
    return (kind, number) if right == bytes(8) else None


def _mix(half: bytes, mask_source: bytes, key: bytes, round_number: int) -> bytes:
    mask = blake2b(mask_source, digest_size=8, key=key, salt=bytes([round_number])).digest()
    return bytes(a ^ b for a, b in zip(half, mask, strict=True))
