"""Reference images of a class that do not reveal an answer."""

from __future__ import annotations

from collections.abc import Collection
from itertools import groupby, islice
from operator import itemgetter

from regrade.app.hidden_images import HiddenImages
from regrade.app.site import Site
from regrade.core import ClassSpace
from regrade.ledger import Queue

_MAX_CANDIDATES = 400  # images that are checked at most
_BATCH = 16  # candidates whose contents are read at once


def reference_images(
    site: Site, hidden: HiddenImages, space: ClassSpace, class_index: int, *, excluded: frozenset[str], count: int
) -> list[tuple[str, int]]:
    """Up to ``count`` images of a class that are not hidden, as (test set, position).

    Test sets that are ``excluded`` or damaged are skipped.
    """
    excluded |= site.damaged_test_sets()
    candidates = islice(site.images.references(space.name, class_index, excluded=excluded), _MAX_CANDIDATES)
    images: list[tuple[str, int]] = []
    for name, group in groupby(candidates, key=itemgetter(0)):
        positions = [position for _, position in group]
        for start in range(0, len(positions), _BATCH):
            visible = hidden.visible(site.test_set(name), positions[start : start + _BATCH])
            images += [(name, position) for position in visible]
            if len(images) >= count:
                return images[:count]
    return images


def reference_addresses(
    site: Site,
    hidden: HiddenImages,
    space: ClassSpace,
    class_index: int,
    *,
    examinations: Collection[Queue],
    excluded: frozenset[str] = frozenset(),
    count: int,
) -> list[str]:
    """URLs of reference images of a class, for a person who answers questions or reads the guide.

    Skips the images ``hidden`` from that person, all images of examinations, and test sets that are ``excluded``,
    damaged or used by an examination.
    """
    excluded |= {queue.test_set for queue in examinations} | site.damaged_test_sets()
    if next(site.images.references(space.name, class_index, excluded=excluded), None) is None:
        return []
    hidden |= site.hiding.examined(examinations)
    images = reference_images(site, hidden, space, class_index, excluded=excluded, count=count)
    addresses = (site.images.address(*image) for image in images)
    return [address for address in addresses if address is not None]
