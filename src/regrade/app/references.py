"""Images of a class for comparison, none of which gives an answer away."""

from __future__ import annotations

from collections.abc import Collection
from itertools import groupby, islice
from operator import itemgetter

from regrade.app.hidden_images import HiddenImages
from regrade.app.site import Site
from regrade.core import ClassSpace
from regrade.ledger import Queue

_MOST_TRIED = 400  # candidates that are looked at before the rest is left out
_STEP = 16  # candidates whose contents are read at once


def reference_images(
    site: Site, hidden: HiddenImages, space: ClassSpace, class_index: int, *, excluded: frozenset[str], count: int
) -> list[tuple[str, int]]:
    """Up to ``count`` images of a class that are not hidden, by test set and position.

    Test sets that are ``excluded`` or damaged have none.
    """
    excluded |= site.damaged_test_sets()
    candidates = islice(site.images.references(space.name, class_index, but=excluded), _MOST_TRIED)
    images: list[tuple[str, int]] = []
    for name, group in groupby(candidates, key=itemgetter(0)):
        positions = [position for _, position in group]
        for start in range(0, len(positions), _STEP):
            visible = hidden.visible(site.test_set(name), positions[start : start + _STEP])
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
    """Addresses of images of a class for someone who answers questions or reads the guide.

    Neither images that are ``hidden`` from them nor any of an examination are among them, nor any from a test set that
    an examination asks about, that is ``excluded`` or that is damaged.
    """
    excluded |= {queue.test_set for queue in examinations} | site.damaged_test_sets()
    if next(site.images.references(space.name, class_index, but=excluded), None) is None:
        return []
    hidden |= site.hiding.examined(examinations)
    images = reference_images(site, hidden, space, class_index, excluded=excluded, count=count)
    addresses = (site.images.address(*image) for image in images)
    return [address for address in addresses if address is not None]
