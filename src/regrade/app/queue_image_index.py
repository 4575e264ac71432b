"""The same image under another id or in another test set: by what it is called, and by its content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from regrade.app.explore.recent_cache import RecentCache
from regrade.core import TestSet
from regrade.core.arrays import IntArray
from regrade.ledger import Queue
from regrade.store import Store
from regrade.workspace.image_contents import ImageContents
from regrade.workspace.shared_images import shared_images

_PAIRS = 32  # of test sets whose common images are kept
_CONTENTS = 16  # test sets whose contents are kept


@dataclass(frozen=True, eq=False)
class QueueImages:
    """The images that a queue asks about: where each item's (n,) is in its test set, and the items by content.

    The position is -1 where the test set does not have the image.
    """

    queue: Queue
    test_set: TestSet
    positions: IntArray
    items_of: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class Copies:
    """Examples of a test set that have the content of an item: ``positions`` (r,), each with one of ``items`` (r,)."""

    positions: IntArray
    items: IntArray


class QueueImageIndex:
    """Finds the images of queues in any test set; what is read of images is kept, and bounded."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._contents: RecentCache[ImageContents] = RecentCache(_CONTENTS)
        self._copies: RecentCache[Copies] = RecentCache(_PAIRS)
        self.shared = lru_cache(_PAIRS)(shared_images)

    def contents(self, test_set: TestSet) -> ImageContents:
        """The contents of a test set's images, as far as they were read."""
        return self._contents.get(test_set.name, test_set, lambda _: ImageContents(self._store, test_set))

    def copies(self, images: QueueImages, test_set: TestSet) -> Copies:
        """The examples of a test set that are known by now to have the content of an item of a queue."""
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
