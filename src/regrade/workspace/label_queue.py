"""Queue of images to label, drawn at random from one or several test sets, for training or examination."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regrade.core import InputError, MismatchError, TestSet
from regrade.display.wording import listed
from regrade.ledger import Ledger, Mode, Question, Queue
from regrade.store import Store
from regrade.studies.leakage.signatures import ImageProgress
from regrade.workspace.label_draw import ExcludedImages, LabelDraw, LabelSample, draw_sample
from regrade.workspace.queue_filling import QueueFiller
from regrade.workspace.queue_result import QueueResult
from regrade.workspace.seen_images import images_of_queues, images_seen, possible_examinees

_DEFAULT_NAMES = {Mode.EXAMINATION: "label", Mode.TRAINING: "training"}


def queue_labels(
    store: Store,
    ledger: Ledger,
    test_sets: Sequence[TestSet],
    draw: LabelDraw,
    *,
    name: str | None,
    overlap: int | None,
    progress: ImageProgress,
) -> QueueResult:
    """Queue images drawn at random from each test set, shuffled together.

    An examination excludes images of any other label queue and those whose label or predictions one of its people has
    seen, and training excludes images of examinations: by id and by content, across all test sets.
    """
    _check_sets(test_sets)
    sets = " and ".join(test_set.name for test_set in test_sets)
    title = name or " ".join(filter(None, (_DEFAULT_NAMES[draw.mode], sets, draw.family)))
    filler = QueueFiller(ledger, title, Question.LABEL, test_sets[0], "", overlap, mode=draw.mode, people=draw.people)
    excluded = _excluded_images(store, filler, draw, progress)
    rng = np.random.default_rng(draw.seed)
    samples: list[LabelSample] = []
    for test_set in test_sets:
        sample = draw_sample(store, test_set, draw, excluded, rng=rng, progress=progress)
        excluded = excluded.with_drawn(sample)
        samples.append(sample)
    items = [item for sample in samples for item in sample.items(test_sets[0])]
    if len(samples) > 1 or draw.per_class is not None:
        items = [items[place] for place in rng.permutation(len(items)).tolist()]
    return filler.add(items, notes=[note for sample in samples for note in sample.notes(len(samples) > 1)])


def _excluded_images(store: Store, filler: QueueFiller, draw: LabelDraw, progress: ImageProgress) -> ExcludedImages:
    """The images of this queue and of conflicting ones, and those that the people of an examination have seen."""
    queued = images_of_queues(store, filler.ledger, _conflicting_queues(store, filler), progress=progress)
    people = draw.people or possible_examinees(filler.ledger, filler.queue)
    examinees = people if draw.mode is Mode.EXAMINATION else ()
    seen = {person.name: images_seen(store, filler.ledger, person, progress=progress) for person in examinees}
    return ExcludedImages(queued, {name: images for name, images in seen.items() if images.examples})


def _conflicting_queues(store: Store, filler: QueueFiller) -> list[Queue]:
    """The label queues, of any test set, that must not share an image with this one; also this one itself."""
    examined = filler.mode is Mode.EXAMINATION
    return [
        queue
        for queue in filler.ledger.queues.all()
        if queue.question is Question.LABEL
        and (examined or queue.mode is Mode.EXAMINATION or queue.name == filler.name)
        and store.test_sets.has(queue.test_set)
    ]


def _check_sets(test_sets: Sequence[TestSet]) -> None:
    """Raise if test sets cannot be mixed in one queue."""
    if not test_sets:
        raise InputError("name at least one test set to draw images from")
    names = [test_set.name for test_set in test_sets]
    if len(set(names)) < len(names):
        raise InputError(f"a test set is given twice: {listed(names)}")
    spaces = {test_set.class_space.name: test_set.name for test_set in test_sets}
    if len(spaces) > 1:
        parts = [f"{name} has those of {space}" for space, name in spaces.items()]
        raise MismatchError(f"test sets in one queue need the same classes: {listed(parts)}")
