"""Finds the images of queues in other test sets and under other ids, by id and by content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from regrade.app.recent_cache import RecentCache
from regrade.core import TestSet
from regrade.core.arrays import IntArray
from regrade.ledger import Queue
from regrade.store import Store
from regrade.studies.shared_images import shared_images
from regrade.workspace.image_contents import ImageContents

_CACHED_PAIRS = 32  # pairs of test sets
_CACHED_CONTENTS = 16  # test sets


@dataclass(frozen=True, eq=False)
class QueueImages:
    """The images of a queue: the position of each item's image (n,) in the test set, and the items by content.

    The position is -1 if the test set does not contain the image.
    """

    queue: Queue
    test_set: TestSet
    positions: IntArray
    items_of: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class Copies:
    """Examples of a test set with the same content as an item: their ``positions`` (r,) and the ``items`` (r,)."""

    positions: IntArray
    items: IntArray


class QueueImageIndex:
    """Finds the images of queues in any test set, with bounded caches."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._contents: RecentCache[ImageContents] = RecentCache(_CACHED_CONTENTS)
        self._copies: RecentCache[Copies] = RecentCache(_CACHED_PAIRS)
        self.shared = lru_cache(_CACHED_PAIRS)(shared_images)

    def contents(self, test_set: TestSet) -> ImageContents:
        """The contents of a test set's images that were read so far."""
        return self._contents.get(test_set.name, test_set, lambda _: ImageContents(self._store, test_set))

    def copies(self, images: QueueImages, test_set: TestSet) -> Copies:
        """The examples of a test set that, as read so far, have the same content as an item of a queue."""
        contents = self.contents(test_set).hashes
        stamp = (images, test_set, len(contents))
        return self._copies.get((images.queue.id, test_set.name), stamp, lambda _: _copies(images, dict(contents)))


def _copies(images: QueueImages, contents: Mapping[int, str | None]) -> Copies:
    pairs = [
        (position, number)
        for position, content in contents.items()
        if content is not None
        for number in images.items_of.get(content, ())
    ]
    positions_and_items = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return Copies(*positions_and_items.T)
