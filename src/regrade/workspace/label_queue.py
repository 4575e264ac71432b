"""A queue of images to label, drawn at random: to learn from, or to be examined by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regrade.classes import family
from regrade.core import InputError, TestSet
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray
from regrade.ledger import Ledger, Mode, NewItem, Question, Queue
from regrade.ledger.item_images import item_images
from regrade.store import Store
from regrade.workspace.image_contents import ImageContents, fill_contents
from regrade.workspace.queue_filling import Filling
from regrade.workspace.queue_result import QueueResult
from regrade.workspace.shared_images import shared_images
from regrade.workspace.signature_loader import ImageProgress

_DEFAULT_NAMES = {Mode.EXAMINATION: "label", Mode.TRAINING: "training"}


def queue_labels(
    store: Store,
    ledger: Ledger,
    test_set: TestSet,
    *,
    size: int | None,
    of_family: str | None,
    mode: Mode,
    seed: int,
    name: str | None,
    overlap: int | None,
    watch: ImageProgress,
) -> QueueResult:
    """Queue images drawn at random from those that are free, all of them unless a size is given.

    An examination takes none that another queue has for labeling, and training none of an examination: neither by its
    id nor by its content, in no test set.
    """
    title = name or " ".join(filter(None, (_DEFAULT_NAMES[mode], test_set.name, of_family)))
    filling = Filling(ledger, title, Question.LABEL, test_set, "", overlap, mode=mode)
    inside, rivals = _inside(test_set, of_family, mode), _rivals(store, filling)
    free = np.flatnonzero(inside & ~_taken(store, filling, rivals))
    _check_size(test_set, size, len(free))
    order = np.random.default_rng(seed).permutation(free).tolist()
    contents = ImageContents(store, test_set)
    drawn = _draw(order, size or len(order), contents, _contents(store, ledger, rivals, watch), watch)
    _check_size(test_set, size, len(free) - drawn.copies)
    notes = [f"drawn at random: {len(drawn.items):,} of {amount(len(free), 'image')}"]
    notes += [f"left out as copies of what other queues ask about: {drawn.copies:,}"] if drawn.copies else []
    unread = sum(content is None for _, content in drawn.items)
    notes += [f"copies cannot be recognized of {amount(unread, 'image')} that cannot be read now"] if unread else []
    items = (NewItem(test_set.ids[position], content=content) for position, content in drawn.items)
    return filling.add(items, notes=notes)


def _check_size(test_set: TestSet, size: int | None, free: int) -> None:
    """Raise where so many images cannot be drawn from those that are free."""
    if (size is not None and not 1 <= size <= free) or not free:
        given = "" if size is None else f", got a size of {size:,}"
        raise InputError(f"{amount(free, 'image')} of {test_set.name} can be drawn{given}")


def _inside(test_set: TestSet, of_family: str | None, mode: Mode) -> BoolArray:
    """The images (n,) that may be asked about at all: those of the family, and in training those with a label."""
    inside = np.ones(len(test_set), dtype=bool)
    if of_family is not None:
        members = family(test_set.class_space, of_family)
        inside = np.isin(test_set.labels, members)
        if not inside.any():
            raise InputError(f"no image of {test_set.name} is labeled as one of {of_family}")
    if mode is Mode.TRAINING:
        if not test_set.labeled.any():
            raise InputError(f"training tells what is right, and no image of {test_set.name} has a label")
        inside &= test_set.labeled
    return inside


def _taken(store: Store, filling: Filling, rivals: Sequence[Queue]) -> BoolArray:
    """The images (n,) that this queue asks about already, or by their ids one of its rivals."""
    target = filling.test_set
    taken = np.zeros(len(target), dtype=bool)
    if filling.queue is not None:
        taken |= _asked(filling.ledger, filling.queue, target)
    for queue in rivals:
        source = target if queue.test_set == target.name else store.test_set(queue.test_set)
        shared = shared_images(source, target)
        if shared is not None:
            taken |= shared.in_second(_asked(filling.ledger, queue, source))
    return taken


def _rivals(store: Store, filling: Filling) -> list[Queue]:
    """The other queues of labels that must not share an image with this one, whatever test set they are of."""
    examined = filling.mode is Mode.EXAMINATION
    return [
        queue
        for queue in filling.ledger.queues()
        if queue.question is Question.LABEL
        and queue.name != filling.name
        and (examined or queue.mode is Mode.EXAMINATION)
        and store.has_test_set(queue.test_set)
    ]


def _asked(ledger: Ledger, queue: Queue, test_set: TestSet) -> BoolArray:
    """The images (n,) of a test set that a queue asks about."""
    inside = np.zeros(len(test_set), dtype=bool)
    places = test_set.position_of
    inside[[places[example] for example, _ in ledger.pairs(queue) if example in places]] = True
    return inside


def _contents(store: Store, ledger: Ledger, queues: Sequence[Queue], watch: ImageProgress) -> frozenset[str]:
    """The contents of all images that queues ask about; those of older ledgers are read first."""
    for queue in queues:
        fill_contents(store, ledger, queue, watch=watch)
    images = (image for queue in queues for image in item_images(ledger.engine, queue.id))
    return frozenset(image.content for image in images if image.content is not None)


@dataclass(frozen=True)
class _Draw:
    """Images that were drawn, with their contents, and how many were passed over as copies of a rival's images."""

    items: tuple[tuple[int, str | None], ...]
    copies: int


def _draw(
    order: Sequence[int], size: int, contents: ImageContents, rivals: frozenset[str], watch: ImageProgress
) -> _Draw:
    """The first ``size`` images of an order whose contents no rival asks about, fewer where there are no more."""
    items: list[tuple[int, str | None]] = []
    begin = 0
    while len(items) < size and begin < len(order):
        step = order[begin : begin + size - len(items)]
        begin += len(step)
        hashed = zip(step, contents.of(step, watch), strict=True)
        items += [(position, content) for position, content in hashed if content not in rivals]
    return _Draw(tuple(items), begin - len(items))
