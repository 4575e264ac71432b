"""Queues of novel predictions to judge: all of them, or a random sample."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regrade.core import InputError, MismatchError, TestSet
from regrade.core.amounts import amount
from regrade.core.label_set import without_version
from regrade.ledger import Ledger, Purpose, Question
from regrade.store import FIRST_MODEL, Store
from regrade.studies import StratifyBy
from regrade.workspace.loading import ProgressCallback, chosen_models
from regrade.workspace.novel_review import DrawnReview, all_novel, draw_next, review_of_labels
from regrade.workspace.queue_filling import QueueFiller
from regrade.workspace.queue_result import QueueResult


def queue_all_novel(
    store: Store,
    ledger: Ledger,
    test_set: TestSet,
    labels: str,
    *,
    models: Sequence[str],
    name: str | None,
    overlap: int | None,
    progress: ProgressCallback,
) -> QueueResult:
    """Queue every prediction of the models that is neither judged nor in another queue."""
    full = store.label_set(test_set, labels).full_name
    title = name or f"novel {test_set.name} {without_version(full)}"
    filler = QueueFiller(ledger, title, Question.JUDGE, test_set, full, overlap)
    names = chosen_models(store, test_set, models)
    if not names:
        raise InputError(f"no model has predictions on {test_set.name} yet: run {FIRST_MODEL}")
    novel = all_novel(store, test_set, labels, names, progress).without_judged(
        review_of_labels(store, test_set, labels)
    )
    in_other_queue = filler.is_among(novel.examples, novel.classes, filler.keys_in_other_queues())
    if in_other_queue.all() and filler.queue is None:
        raise InputError(
            f"no novel prediction is left on {test_set.name} under {full}{_why_none_left(int(in_other_queue.sum()))}"
        )
    notes = [f"novel predictions of {amount(len(names), 'model')} under {full}: {len(novel.examples):,}"]
    notes += [f"asked in another queue: {in_other_queue.sum():,}"] if in_other_queue.any() else []
    return filler.add_pairs(novel.examples[~in_other_queue], novel.classes[~in_other_queue], notes=notes)


def queue_sample(
    store: Store,
    ledger: Ledger,
    test_set: TestSet,
    labels: str,
    *,
    size: int,
    by: StratifyBy | None,
    seed: int,
    name: str | None,
    overlap: int | None,
) -> QueueResult:
    """Queue the next predictions in the random order of a review of all novel predictions and answers.

    Predictions that are in another queue are included: the sample would not be random without them.
    """
    full = store.label_set(test_set, labels).full_name
    title = name or f"sample {test_set.name} {full}"
    filler = QueueFiller(ledger, title, Question.JUDGE, test_set, full, overlap, purpose=Purpose.RANDOM_SAMPLE)
    if filler.queue is not None and filler.queue.labels != full:
        raise MismatchError(f"queue {filler.name!r} is for {filler.queue.labels}: choose another --name for {full}")
    waiting = _drawn_before(store, filler, labels)
    with store.transaction() as change:
        drawn = _drawn_with(store, filler, labels, waiting, size=size, by=by, seed=seed)
    change.commit_now()  # stored before the items are added, so that no other queue can draw the same predictions
    frame, rows = drawn.frame, drawn.rows
    in_other_queue = filler.is_among(frame.examples[rows], frame.classes[rows], filler.keys_in_other_queues())
    notes = [
        f"drawn at random: {len(rows):,}, so far {frame.drawn:,} of {amount(len(frame), 'novel prediction')} "
        f"(stratified by {frame.stratified_by})"
    ]
    notes += [f"asked in another queue too: {in_other_queue.sum():,}"] if in_other_queue.any() else []
    return filler.add_pairs(frame.examples[rows], frame.classes[rows], frame.strata[rows], notes=notes)


def _drawn_before(store: Store, filler: QueueFiller, labels: str) -> DrawnReview | None:
    """Predictions that an interrupted command drew for the queue but did not add to it; None if there are none."""
    frame = review_of_labels(store, filler.test_set, labels)
    if frame is None:
        return None
    rows = store.rows_drawn_for(frame, filler.name)
    waiting = rows[~filler.is_among(frame.examples[rows], frame.classes[rows], filler.keys_in_queue())]
    return DrawnReview(frame, waiting) if len(waiting) else None


def _drawn_with(
    store: Store,
    filler: QueueFiller,
    labels: str,
    waiting: DrawnReview | None,
    *,
    size: int,
    by: StratifyBy | None,
    seed: int,
) -> DrawnReview:
    """``size`` predictions for the queue: first those drawn before, then the next ones in random order."""
    if waiting is not None and len(waiting.rows) >= size:
        return waiting
    ahead = 0 if waiting is None else len(waiting.rows)
    drawn = draw_next(store, filler.test_set, labels, size=size - ahead, by=by, seed=seed, queue=filler.name)
    return drawn if waiting is None else DrawnReview(drawn.frame, np.concatenate([waiting.rows, drawn.rows]))


def _why_none_left(in_other_queue: int) -> str:
    return f": {in_other_queue:,} are asked in another queue" if in_other_queue else ": all are judged"
