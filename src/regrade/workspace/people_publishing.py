"""Publish the labels that people gave in an examination as rows next to the models."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from regrade.core import (
    NO_ANSWER,
    PERSON_PREFIX,
    AlreadyStored,
    Answerer,
    AnswerTimes,
    InputError,
    MismatchError,
    Predictions,
    TestSet,
)
from regrade.store import Manifest, PredictionSource, Store, manifest_of
from regrade.workspace.label_publishing import published_queue
from regrade.workspace.publish_result import PublishResult

if TYPE_CHECKING:
    from regrade.ledger import Ledger, PersonsAnswer, Queue


def publish_people(store: Store, ledger: Ledger, queue: Queue, test_set: TestSet, *, dry_run: bool) -> PublishResult:
    """Store a row for each person who answered in a queue: their last answers in it and in queues published before.

    A row imported from a file is not replaced.
    """
    from regrade.ledger import Mode

    if queue.mode is Mode.TRAINING:
        raise InputError(f"queue {queue.name!r} is for training: its answers are not published")
    stored = _stored(store, test_set)
    people = dict.fromkeys(PERSON_PREFIX + answer.person for answer in ledger.votes.last_answers(queue))
    people |= dict.fromkeys(name for name, manifest in stored.items() if queue.name in manifest.queues)
    rows, silent = [], []
    for name in people:
        before = stored.get(name)
        if before is not None and not before.queues:
            folder = store.prediction_folder(test_set.name, name)
            raise AlreadyStored(
                f"the answers of {name} on {test_set.name} were imported from a file: remove {folder} first"
            )
        queues = tuple(dict.fromkeys([*(before.queues if before else ()), queue.name]))
        answers = _answers(ledger, queues, name, test_set)
        if not answers:
            silent.append(name)
            continue
        row = _predictions(answers, name, test_set)
        manifest = manifest_of(row, test_set, test_set.class_space, PredictionSource(), queues=queues)
        if before is None or before.digest != manifest.digest:
            rows.append((row, manifest))
    if not dry_run:
        if rows:
            store.add_predictions(test_set, rows, test_set.class_space)
        for name in silent:
            store.remove_answers(test_set.name, name)
    sizes = {row.model: int(row.counted.sum()) for row, _ in rows} | dict.fromkeys(silent, 0)
    changes = {f"{'image' if size == 1 else 'images'} of {name}": size for name, size in sizes.items()}
    progress = ledger.queues.progress(queue)
    parts = {"items": progress.items, "with every answer": progress.answered}
    return PublishResult(queue.name, f"people on {test_set.name}", changes, bool(changes) and not dry_run, parts)


def _stored(store: Store, test_set: TestSet) -> dict[str, Manifest]:
    return {name: store.manifest(test_set, name) for name in store.people_names(test_set.name)}


def _answers(ledger: Ledger, queues: Iterable[str], name: str, test_set: TestSet) -> dict[int, PersonsAnswer]:
    """The last answers of one person, by position in the test set."""
    all_answers = [
        answer for queue in queues for answer in ledger.votes.last_answers(published_queue(ledger, queue, test_set))
    ]
    own = sorted(
        (answer for answer in all_answers if PERSON_PREFIX + answer.person == name), key=lambda answer: answer.at
    )
    for answer in own:
        if answer.example not in test_set.position_of:
            raise MismatchError(
                f"the ledger has an answer on {answer.example!r}, which is not in test set {test_set.name}"
            )
    return {test_set.position_of[answer.example]: answer for answer in own}


def _predictions(answers: dict[int, PersonsAnswer], name: str, test_set: TestSet) -> Predictions:
    size = len(test_set)
    classes = np.full((size, 1), NO_ANSWER, dtype=np.int32)
    start, end = np.full(size, np.nan), np.full(size, np.nan)
    was_asked = np.zeros(size, dtype=bool)
    for position, answer in answers.items():
        was_asked[position] = True
        if answer.answer:
            classes[position, 0] = test_set.class_space.index(answer.answer)
        if answer.seconds is not None:
            end[position] = answer.at.timestamp()
            start[position] = end[position] - answer.seconds
    return Predictions(
        name,
        test_set.name,
        test_set.class_space.name,
        classes,
        by=Answerer.PERSON,
        covered=None if was_asked.all() else was_asked,
        times=AnswerTimes(start, end) if np.isfinite(end).any() else None,
    )
