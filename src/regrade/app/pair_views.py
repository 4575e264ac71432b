"""Pairs of images as the pages show them: both images, and their distances once all have voted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from regrade.app.cache import RecentCache, pairs_stamp
from regrade.core import ImagePair, UnknownName
from regrade.store import Store

if TYPE_CHECKING:
    from regrade.app.site import Site
    from regrade.ledger import Item, Queue

_CACHED_SETS = 8
_BLIND = "shown once all have voted"


class PairIndex:
    """The stored pairs of test sets by key, cached until more are stored."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pairs: RecentCache[dict[str, ImagePair]] = RecentCache(_CACHED_SETS)

    def of(self, queue: Queue, item: Item) -> ImagePair:
        """The pair of an item; raise if it is not stored."""
        stamp = pairs_stamp(self._store, queue.test_set)
        pairs = self._pairs.get(queue.test_set, lambda: self._store.pair_searches.pairs(queue.test_set), stamp=stamp)
        if item.class_id not in pairs:
            raise UnknownName(f"pair of {queue.test_set}", item.class_id, None)
        return pairs[item.class_id]


def pair_view(site: Site, queue: Queue, item: Item) -> dict[str, Any]:
    """Both images of a pair in either order, without labels, names and distances; the second may be mirrored."""
    pair = site.pairs.of(queue, item)
    first, second = pair_addresses(site, queue, item)
    return {"id": item.id, "image": first, "second": second, "mirrored": pair.mirrored}


def pair_addresses(site: Site, queue: Queue, item: Item) -> list[str | None]:
    """The URLs of both images; their order depends on the key, so that it does not tell their test sets."""
    pair = site.pairs.of(queue, item)
    sides = pair.sides if int(pair.key, 16) % 2 else pair.sides[::-1]
    return [_address(site, queue, side.test_set, side.image) for side in sides]


def _address(site: Site, queue: Queue, test_set: str, image: str) -> str | None:
    if not site.workspace.store.test_sets.has(test_set):
        return None
    return site.images.address_in_queue(test_set, site.test_set(test_set).position(image), queue.id)


def distance_text(site: Site, queue: Queue, item: Item, *, all_voted: bool) -> str:
    """The test sets of both images and their distances, once all have voted."""
    if not all_voted:
        return _BLIND
    pair = site.pairs.of(queue, item)
    sets = " and ".join(dict.fromkeys(side.test_set for side in pair.sides))
    distances = ", ".join(f"{name} {value:.4g}" for name, value in pair.distances.items())
    return f"{distances}{' (mirrored)' if pair.mirrored else ''}; images of {sets}"
