"""Reference images, which show a person what a class looks like: where they come from, and which are never shown."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, islice
from operator import itemgetter

from regrade.app.hidden_images import HiddenImages
from regrade.app.site import Site
from regrade.core import ClassSpace
from regrade.ledger import Person, Queue

_MAX_CANDIDATES = 400  # images that are checked at most
_BATCH = 16  # candidates whose contents are read at once


def question_references(site: Site, queue: Queue, person: Person, class_index: int, *, count: int) -> list[str]:
    """URLs of images of a class for the page of a question: from the training set, then from other test sets.

    If there are none, images of the queue's own test set serve questions that show predictions: the people who answer
    these see its labels in Explore anyway, while labelers may still get an examination of its other images. No image
    that the queue asks about is shown, by id or content: neither the image itself nor the next ones.
    """
    space = site.test_set(queue.test_set).class_space
    hidden = site.hidden_from(person) | site.hiding.all_of([queue])
    store, own = site.workspace.store, site.hiding.test_sets([queue])
    training = [name for name in map(store.training_set_of, own) if name is not None]
    elsewhere = [name for name in dict.fromkeys([*training, *store.test_sets.names()]) if name not in own]
    references = reference_addresses(site, hidden, space, class_index, sets=elsewhere, count=count)
    if references or not queue.question.shows_predictions:
        return references
    return reference_addresses(site, hidden, space, class_index, sets=own, count=count)


def reference_addresses(
    site: Site, hidden: HiddenImages, space: ClassSpace, class_index: int, *, sets: Sequence[str], count: int
) -> list[str]:
    """URLs of images of a class for a person who answers questions or reads the guide, from these test sets.

    Skips the images ``hidden`` from that person, all images of examinations, and test sets that are damaged or used by
    an examination.
    """
    examinations = site.ledger.queues.examinations()
    examined = set(site.hiding.test_sets(examinations))
    usable = [name for name in sets if name not in examined | site.damaged_test_sets()]
    if next(site.images.references(space.name, class_index, sets=usable), None) is None:
        return []
    hidden |= site.hiding.all_of(examinations)
    images = reference_images(site, hidden, space, class_index, sets=usable, count=count)
    addresses = (site.images.address(*image) for image in images)
    return [address for address in addresses if address is not None]


def reference_images(
    site: Site, hidden: HiddenImages, space: ClassSpace, class_index: int, *, sets: Sequence[str], count: int
) -> list[tuple[str, int]]:
    """Up to ``count`` images of a class that are not hidden, as (test set, position); damaged test sets are skipped."""
    damaged = site.damaged_test_sets()
    readable = [name for name in sets if name not in damaged]
    candidates = islice(site.images.references(space.name, class_index, sets=readable), _MAX_CANDIDATES)
    images: list[tuple[str, int]] = []
    for name, group in groupby(candidates, key=itemgetter(0)):
        positions = [position for _, position in group]
        for start in range(0, len(positions), _BATCH):
            visible = hidden.visible(site.test_set(name), positions[start : start + _BATCH])
            images += [(name, position) for position in visible]
            if len(images) >= count:
                return images[:count]
    return images
