"""A queue of pictures to label, drawn at random: to learn from, or to be examined by."""

from __future__ import annotations

import numpy as np

from regrade.classes import family
from regrade.core import InputError, TestSet
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray
from regrade.ledger import Ledger, Mode, NewItem, Question
from regrade.workspace.filling import Filling
from regrade.workspace.queued import Queued

_DEFAULT_NAMES = {Mode.EXAMINATION: "label", Mode.TRAINING: "training"}


def queue_labels(
    ledger: Ledger,
    test_set: TestSet,
    *,
    size: int | None,
    of_family: str | None,
    mode: Mode,
    seed: int,
    name: str | None,
    overlap: int | None,
) -> Queued:
    """Queue pictures drawn at random from those that are free, all of them unless a size is given.

    An examination takes none that another queue has for labeling, and training none of an examination.
    """
    title = name or " ".join(filter(None, (_DEFAULT_NAMES[mode], test_set.name, of_family)))
    filling = Filling(ledger, title, Question.LABEL, test_set, "", overlap, mode=mode)
    inside = _inside(test_set, of_family, mode)
    free = np.flatnonzero(inside & ~_taken(filling))
    if (size is not None and not 1 <= size <= len(free)) or not free.size:
        wanted = "" if size is None else f", got a size of {size:,}"
        raise InputError(f"{amount(len(free), 'picture')} of {test_set.name} can be drawn{wanted}")
    drawn = np.random.default_rng(seed).permutation(free)[:size]
    notes = (f"drawn at random: {len(drawn):,} of {amount(len(free), 'picture')}",)
    return filling.add((NewItem(test_set.ids[image]) for image in drawn.tolist()), notes=notes)


def _inside(test_set: TestSet, of_family: str | None, mode: Mode) -> BoolArray:
    """The pictures (n,) that may be asked about at all: those of the family, and in training those with a label."""
    inside = np.ones(len(test_set), dtype=bool)
    if of_family is not None:
        members = family(test_set.class_space, of_family)
        inside = np.isin(test_set.labels, members)
        if not inside.any():
            raise InputError(f"no picture of {test_set.name} is labeled as one of {of_family}")
    if mode is Mode.TRAINING:
        if not test_set.labeled.any():
            raise InputError(f"training tells what is right, and no picture of {test_set.name} has a label")
        inside &= test_set.labeled
    return inside


def _taken(filling: Filling) -> BoolArray:
    """The pictures (n,) that this queue asks about already, or others that must not share any with it."""
    others = [one for one in filling.alike if filling.mode is Mode.EXAMINATION or one.mode is Mode.EXAMINATION]
    queues = [*others, *([] if filling.queue is None else [filling.queue])]
    places = filling.test_set.position_of
    taken = np.zeros(len(filling.test_set), dtype=bool)
    for queue in queues:
        taken[[places[example] for example, _ in filling.ledger.pairs(queue) if example in places]] = True
    return taken
