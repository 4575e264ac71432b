"""Queue of images to label, drawn at random, for training or examination."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regrade.classes import family
from regrade.core import InputError, TestSet
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray
from regrade.ledger import Ledger, Mode, NewItem, Question, Queue
from regrade.store import Store
from regrade.studies.leakage.signatures import ImageProgress
from regrade.studies.shared_images import shared_images
from regrade.workspace.image_contents import ImageContents, fill_contents
from regrade.workspace.queue_filling import QueueFiller
from regrade.workspace.queue_result import QueueResult

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
    progress: ImageProgress,
) -> QueueResult:
    """Queue ``size`` images (default: all) drawn at random from those that may be used.

    An examination excludes images of any other label queue, and training excludes images of examinations: by id and
    by content, across all test sets.
    """
    title = name or " ".join(filter(None, (_DEFAULT_NAMES[mode], test_set.name, of_family)))
    filler = QueueFiller(ledger, title, Question.LABEL, test_set, "", overlap, mode=mode)
    eligible, conflicting = _eligible(test_set, of_family, mode), _conflicting_queues(store, filler)
    free = np.flatnonzero(eligible & ~_taken(store, filler, conflicting))
    _check_size(test_set, size, len(free))
    order = np.random.default_rng(seed).permutation(free).tolist()
    contents = ImageContents(store, test_set)
    drawn = _draw(order, size or len(order), contents, _contents(store, ledger, conflicting, progress), progress)
    _check_size(test_set, size, len(free) - drawn.copies)
    notes = [f"drawn at random: {len(drawn.items):,} of {amount(len(free), 'image')}"]
    notes += [f"left out as copies of what other queues ask about: {drawn.copies:,}"] if drawn.copies else []
    unread = sum(content is None for _, content in drawn.items)
    notes += [f"copies cannot be recognized of {amount(unread, 'image')} that cannot be read now"] if unread else []
    items = (NewItem(test_set.ids[position], content=content) for position, content in drawn.items)
    return filler.add(items, notes=notes)


def _check_size(test_set: TestSet, size: int | None, free: int) -> None:
    """Raise if ``size`` images cannot be drawn."""
    if (size is not None and not 1 <= size <= free) or not free:
        requested = "" if size is None else f", got a size of {size:,}"
        raise InputError(f"{amount(free, 'image')} of {test_set.name} can be drawn{requested}")


def _eligible(test_set: TestSet, of_family: str | None, mode: Mode) -> BoolArray:
    """Mask (n,) of eligible images: those of the family, and in training those with a label."""
    eligible = np.ones(len(test_set), dtype=bool)
    if of_family is not None:
        members = family(test_set.class_space, of_family)
        eligible = np.isin(test_set.labels, members)
        if not eligible.any():
            raise InputError(f"no image of {test_set.name} has a label in the family {of_family}")
    if mode is Mode.TRAINING:
        if not test_set.labeled.any():
            raise InputError(f"training shows the correct label, but no image of {test_set.name} has a label")
        eligible &= test_set.labeled
    return eligible


def _taken(store: Store, filler: QueueFiller, conflicting: Sequence[Queue]) -> BoolArray:
    """Mask (n,) of images that are in this queue already, or by their ids in a conflicting queue."""
    target = filler.test_set
    taken = np.zeros(len(target), dtype=bool)
    if filler.queue is not None:
        taken |= _in_queue(filler.ledger, filler.queue, target)
    for queue in conflicting:
        source = target if queue.test_set == target.name else store.test_set(queue.test_set)
        shared = shared_images(source, target)
        if shared is not None:
            taken |= shared.in_second(_in_queue(filler.ledger, queue, source))
    return taken


def _conflicting_queues(store: Store, filler: QueueFiller) -> list[Queue]:
    """The label queues, of any test set, that must not share an image with this one."""
    examined = filler.mode is Mode.EXAMINATION
    return [
        queue
        for queue in filler.ledger.queues.all()
        if queue.question is Question.LABEL
        and queue.name != filler.name
        and (examined or queue.mode is Mode.EXAMINATION)
        and store.test_sets.has(queue.test_set)
    ]


def _in_queue(ledger: Ledger, queue: Queue, test_set: TestSet) -> BoolArray:
    """Mask (n,) of the images of a test set that are in a queue."""
    in_queue = np.zeros(len(test_set), dtype=bool)
    position_of = test_set.position_of
    in_queue[[position_of[example] for example, _ in ledger.items.pairs(queue) if example in position_of]] = True
    return in_queue


def _contents(store: Store, ledger: Ledger, queues: Sequence[Queue], progress: ImageProgress) -> frozenset[str]:
    """The content hashes of all images in these queues; missing ones are computed first."""
    for queue in queues:
        fill_contents(store, ledger, queue, progress=progress)
    images = (image for queue in queues for image in ledger.items.images(queue))
    return frozenset(image.content for image in images if image.content is not None)


@dataclass(frozen=True)
class _Draw:
    """The drawn images with their content hashes, and how many were skipped as copies of images in other queues."""

    items: tuple[tuple[int, str | None], ...]
    copies: int


def _draw(
    order: Sequence[int], size: int, contents: ImageContents, excluded: frozenset[str], progress: ImageProgress
) -> _Draw:
    """Up to ``size`` images, in order, whose content is not in a conflicting queue."""
    items: list[tuple[int, str | None]] = []
    begin = 0
    while len(items) < size and begin < len(order):
        step = order[begin : begin + size - len(items)]
        begin += len(step)
        hashed = zip(step, contents.of(step, progress), strict=True)
        items += [(position, content) for position, content in hashed if content not in excluded]
    return _Draw(tuple(items), begin - len(items))
