"""Random samples of novel predictions: draw them, publish their decisions, and grade models while they are judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from regrade.core import InputError, LabelState, MismatchError, NovelSample, ReviewDecisions, StratifyBy, TestSet
from regrade.core.arrays import IntArray
from regrade.store import Store
from regrade.studies import GradeRow, Novel, describe_change, draw_review, novel_predictions
from regrade.studies.grade.analysis import grade
from regrade.studies.loading import chosen_rows, multilabel_scoring, reviewed_labels, scored_predictions
from regrade.studies.study import ProgressCallback
from regrade.workspace.label_publishing import PairDecisions, decided_pairs, label_set_name
from regrade.workspace.queue_result import PublishResult, items_by_state

if TYPE_CHECKING:
    from regrade.ledger import Ledger, Purpose, Queue

MOST_MODELS = 8
"""Maximum number of models graded while people judge; `regrade grade` shows all."""


def purpose_of(store: Store, ledger: Ledger, queue: Queue, test_set: TestSet) -> Purpose:
    """The purpose of a queue; for one that an earlier version created, a random sample if all its items were drawn."""
    from regrade.ledger import Purpose, Question

    if queue.purpose is not None:
        return queue.purpose
    is_sample = queue.question is Question.JUDGE and _sample_of_items(store, ledger, queue, test_set) is not None
    return Purpose.RANDOM_SAMPLE if is_sample else Purpose.CENSUS


def decided_sample(store: Store, ledger: Ledger, queue: Queue, test_set: TestSet) -> NovelSample | None:
    """The random sample with all current decisions of a queue; None if the queue is not a random sample."""
    from regrade.ledger import Purpose

    if purpose_of(store, ledger, queue, test_set) is not Purpose.RANDOM_SAMPLE:
        return None
    frame = _sample(store, ledger, queue, test_set)
    return store.reviews.with_decisions(frame, test_set, _current_decisions(ledger, queue, test_set), queue=queue.name)


def _sample(store: Store, ledger: Ledger, queue: Queue, test_set: TestSet) -> NovelSample:
    """The random sample that all items of a queue were drawn for; raises if any was not."""
    frame = _sample_of_items(store, ledger, queue, test_set)
    if frame is None:
        raise MismatchError(
            f"queue {queue.name!r} is a random sample, but not all of its items were drawn for the review of "
            f"{queue.labels} in this workspace: publish it in the workspace that it was drawn in"
        )
    return frame


def _sample_of_items(store: Store, ledger: Ledger, queue: Queue, test_set: TestSet) -> NovelSample | None:
    label_set_name(queue)
    frame = store.reviews.read(test_set, store.labels.read(test_set, queue.labels))
    pairs = ledger.items.pairs(queue)
    if frame is None or not pairs or not all(example in test_set.position_of for example, _ in pairs):
        return None
    examples = np.array([test_set.position_of[example] for example, _ in pairs])
    classes = np.array([test_set.class_space.index(class_id) for _, class_id in pairs])
    rows = frame.find(examples, classes)
    return frame if ((rows >= 0) & (frame.turns[rows] < frame.drawn)).all() else None


def publish_sample(store: Store, ledger: Ledger, queue: Queue, test_set: TestSet, *, dry_run: bool) -> PublishResult:
    """Store the decisions of a queue in the review that it was drawn for, if they change anything."""
    frame = _sample(store, ledger, queue, test_set)
    decisions = _current_decisions(ledger, queue, test_set)
    after = store.reviews.with_decisions(frame, test_set, decisions, queue=queue.name)
    differs = np.flatnonzero(frame.states != after.states)
    moves = zip(frame.states[differs].tolist(), after.states[differs].tolist(), strict=True)
    changes = Counter(describe_change(LabelState(was), LabelState(now)) for was, now in sorted(moves))
    if frame.reasons != after.reasons and not changes:
        changes["reasons changed"] = len(set(frame.reasons.items()) ^ set(after.reasons.items()))
    if changes and not dry_run:
        store.reviews.add_changes(frame, after, test_set, queue=queue.name)
    target = f"the review of {frame.labels}"
    parts = items_by_state(ledger.queues.progress(queue))
    return PublishResult(queue.name, target, changes, bool(changes) and not dry_run, parts)


def _current_decisions(ledger: Ledger, queue: Queue, test_set: TestSet) -> ReviewDecisions:
    return _review_decisions(decided_pairs(ledger.decisions.of_queue(queue), test_set))


def _review_decisions(decided: PairDecisions) -> ReviewDecisions:
    states = {**dict.fromkeys(decided.decisions, LabelState.PROBLEMATIC), **decided.judgments}
    pairs = np.array(list(states), dtype=np.int64).reshape(-1, 2)
    problems = decided.problems
    places = {place: problems[pair[0]] for place, pair in enumerate(states) if states[pair] is LabelState.PROBLEMATIC}
    return ReviewDecisions(pairs[:, 0], pairs[:, 1], np.array(list(states.values()), dtype=np.int8), places)


@dataclass(frozen=True)
class RunningReview:
    """Models with their accuracy so far, best first; ``models`` counts all models of the test set."""

    rows: tuple[GradeRow, ...]
    models: int


def running_review(store: Store, ledger: Ledger, queue: Queue, test_set: TestSet) -> RunningReview | None:
    """Accuracies from all current decisions of a queue, published or not; None unless the queue is a random sample."""
    frame = decided_sample(store, ledger, queue, test_set)
    if frame is None:
        return None
    names = store.predictions.model_names(test_set.name)
    labels = replace(reviewed_labels(store, test_set, queue.labels), review=frame)
    scored = scored_predictions(store, test_set, names[:MOST_MODELS])
    result = grade(test_set, scored, labels=labels, confidence=store.config.confidence)
    return RunningReview(tuple(row for row in result.rows if row.anytime), len(names))


@dataclass(frozen=True)
class DrawnReview:
    """A review and its rows that were drawn, in random order."""

    frame: NovelSample
    rows: IntArray


def all_novel(
    store: Store, test_set: TestSet, labels: str, models: Sequence[str] = (), progress: ProgressCallback = iter
) -> Novel:
    """Every prediction that a label set does not judge, including those judged in its review."""
    names = chosen_rows(store, test_set, models)
    scoring = multilabel_scoring(store, test_set, labels, rule=None, collapsed=False)
    return novel_predictions(test_set, (store.predictions.read(test_set, model) for model in progress(names)), scoring)


def review_of_labels(store: Store, test_set: TestSet, labels: str) -> NovelSample | None:
    """The review of the novel predictions of a label set; None if there is none."""
    return store.reviews.read(test_set, store.labels.read(test_set, labels))


def draw_next(
    store: Store, test_set: TestSet, labels: str, *, size: int, by: StratifyBy | None, seed: int, queue: str = ""
) -> DrawnReview:
    """Draw the next predictions of a review, for ``queue`` if named; the first draw fixes the random order.

    Draws of concurrent processes are serialized, so that no prediction is drawn twice.
    """
    with store.transaction():
        frame = review_of_labels(store, test_set, labels)
        if frame is None:
            novel = all_novel(store, test_set, labels)
            frame = draw_review(novel, by=by or StratifyBy.VOTES, rng=np.random.default_rng(seed))
            if not 1 <= size <= len(frame):
                raise InputError(f"{len(frame):,} novel predictions can be drawn, got a size of {size:,}")
            store.reviews.add(frame, test_set)
        elif by is not None and by.value != frame.stratified_by:
            raise InputError(f"the review of {labels} is stratified by {frame.stratified_by} since its first draw")
        drawn = store.reviews.draw_more(frame, size, queue=queue)
    return DrawnReview(drawn, drawn.given_out(frame.drawn, drawn.drawn))


def drawn_unjudged(store: Store, test_set: TestSet, labels: str) -> DrawnReview:
    """The predictions that were drawn and are not judged yet."""
    frame = review_of_labels(store, test_set, labels)
    if frame is None:
        raise InputError(f"no novel prediction was drawn for {labels} yet: run regrade labels sample")
    rows = frame.given_out(0, frame.drawn)
    return DrawnReview(frame, rows[~frame.judged[rows]])
