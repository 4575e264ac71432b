"""Queues of novel predictions to judge: all of them, or a random sample that speaks for the rest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regrade.core import InputError, MismatchError, TestSet
from regrade.core.amounts import amount
from regrade.core.label_set import without_version
from regrade.ledger import Ledger, Question
from regrade.store import FIRST_MODEL, Store
from regrade.studies import StratifyBy
from regrade.workspace.loading import ProgressCallback, chosen_models
from regrade.workspace.novel_review import DrawnReview, all_novel, draw_next, review_of_labels
from regrade.workspace.queue_filling import Filling
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
    watch: ProgressCallback,
) -> QueueResult:
    """Queue every prediction of the models that no one has judged and no one is asked about yet."""
    full = store.label_set(test_set, labels).full_name
    title = name or f"novel {test_set.name} {without_version(full)}"
    filling = Filling(ledger, title, Question.JUDGE, test_set, full, overlap)
    names = chosen_models(store, test_set, models)
    if not names:
        raise InputError(f"no model has predictions on {test_set.name} yet: {FIRST_MODEL}")
    novel = all_novel(store, test_set, labels, names, watch).without_judged(review_of_labels(store, test_set, labels))
    elsewhere = filling.is_asked(novel.examples, novel.classes, filling.asked_elsewhere())
    if elsewhere.all() and filling.queue is None:
        raise InputError(f"no novel prediction is left on {test_set.name} under {full}{_asked(int(elsewhere.sum()))}")
    notes = [f"novel predictions of {amount(len(names), 'model')} under {full}: {len(novel.examples):,}"]
    notes += [f"asked in another queue: {elsewhere.sum():,}"] if elsewhere.any() else []
    return filling.add_pairs(novel.examples[~elsewhere], novel.classes[~elsewhere], notes=notes)


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
    """Queue the next predictions of the random order of a review, which holds all novel ones of models and people.

    What another queue asks about is asked here too: left out, the rest would be no fair sample.
    """
    full = store.label_set(test_set, labels).full_name
    filling = Filling(ledger, name or f"sample {test_set.name} {full}", Question.JUDGE, test_set, full, overlap)
    if filling.queue is not None and filling.queue.labels != full:
        raise MismatchError(f"queue {filling.name!r} is under {filling.queue.labels}: give another --name for {full}")
    waiting = _drawn_before(store, filling, labels)
    with store.transaction() as change:
        drawn = _drawn_with(store, filling, labels, waiting, size=size, by=by, seed=seed)
    change.commit_now()  # drawn first: what is asked was never drawn for someone else
    frame, rows = drawn.frame, drawn.rows
    elsewhere = filling.is_asked(frame.examples[rows], frame.classes[rows], filling.asked_elsewhere())
    notes = [
        f"drawn at random: {len(rows):,}, so far {frame.drawn:,} of {amount(len(frame), 'novel prediction')} "
        f"(stratified by {frame.stratified_by})"
    ]
    notes += [f"asked in another queue too: {elsewhere.sum():,}"] if elsewhere.any() else []
    return filling.add_pairs(frame.examples[rows], frame.classes[rows], frame.strata[rows], notes=notes)


def _drawn_before(store: Store, filling: Filling, labels: str) -> DrawnReview | None:
    """What a command that was stopped has drawn for the queue and not put into it; none if there is no such thing."""
    frame = review_of_labels(store, filling.test_set, labels)
    if frame is None:
        return None
    rows = store.rows_drawn_for(frame, filling.name)
    waiting = rows[~filling.is_asked(frame.examples[rows], frame.classes[rows], filling.asked_here())]
    return DrawnReview(frame, waiting) if len(waiting) else None


def _drawn_with(
    store: Store,
    filling: Filling,
    labels: str,
    waiting: DrawnReview | None,
    *,
    size: int,
    by: StratifyBy | None,
    seed: int,
) -> DrawnReview:
    """So many predictions for the queue: those that wait for it first, then the next ones of the random order."""
    if waiting is not None and len(waiting.rows) >= size:
        return waiting
    ahead = 0 if waiting is None else len(waiting.rows)
    drawn = draw_next(store, filling.test_set, labels, size=size - ahead, by=by, seed=seed, queue=filling.name)
    return drawn if waiting is None else DrawnReview(drawn.frame, np.concatenate([waiting.rows, drawn.rows]))


def _asked(elsewhere: int) -> str:
    return f": {elsewhere:,} are asked in another queue" if elsewhere else ": all are judged"
