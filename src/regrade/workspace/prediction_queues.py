"""Queues of predictions: novel ones to judge, and people's answers among them to judge blindly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from regrade.core import InputError, MismatchError, StratifyBy, TestSet
from regrade.core.amounts import amount
from regrade.core.arrays import IntArray
from regrade.core.label_set import without_version
from regrade.ledger import Ledger, Purpose, Question
from regrade.store import FIRST_MODEL, Store
from regrade.studies import MultilabelScoring, Seeds, apply_review, draw_seeds
from regrade.studies.loading import chosen_models, chosen_people, multilabel_scoring
from regrade.studies.study import ProgressCallback
from regrade.workspace.queue_filling import QueueFiller
from regrade.workspace.queue_result import QueueResult
from regrade.workspace.review_sample import DrawnReview, all_novel, draw_next, review_of_labels


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
    full = store.labels.read(test_set, labels).full_name
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
    full = store.labels.read(test_set, labels).full_name
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
    rows = store.reviews.rows_drawn_for(frame, filler.name)
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


def queue_people(
    store: Store,
    ledger: Ledger,
    test_set: str,
    labels: str,
    *,
    people: Sequence[str],
    seed: int,
    name: str | None,
    overlap: int | None,
    progress: ProgressCallback,
) -> QueueResult:
    """Queue people's unjudged answers, and for each of their images the prediction of a random model.

    Both are added together in random order, so that neither position nor item number tells them apart.
    """
    target = store.test_set(test_set)
    scoring = multilabel_scoring(store, target, labels, rule=None, collapsed=False)
    full = scoring.labels.full_name
    title = name or f"people {test_set} {without_version(full)}"
    filler = QueueFiller(ledger, title, Question.JUDGE, target, full, overlap)
    persons, models = chosen_people(store, target, people), chosen_models(store, target, ())
    if not persons:
        raise InputError(f"no person has answers on {test_set} yet: run regrade import people")
    if not models:
        raise InputError(
            f"no model has predictions on {test_set}: a blind review needs predictions to mix with people's answers"
        )
    novel = all_novel(store, target, labels, persons).without_judged(review_of_labels(store, target, labels))
    keys_in_other_queues, keys_in_queue = filler.keys_in_other_queues(), filler.keys_in_queue()
    new = ~filler.is_among(novel.examples, novel.classes, np.concatenate([keys_in_other_queues, keys_in_queue]))
    if not new.any() and filler.queue is None:
        raise InputError(f"all answers of these people on {test_set} are judged under {full} or in a queue already")
    examples, classes = novel.examples[new], novel.classes[new]
    predicted_classes, preferred = _predictions_with_preference(
        store, filler, progress(models), scoring, filler.pairs_of(keys_in_other_queues, images=examples)
    )
    # an image with a model's prediction in the queue gets no second one
    queued_examples, queued_classes = filler.pairs_of(keys_in_queue, images=examples)
    rng = np.random.default_rng(seed)
    seeds = draw_seeds(
        np.concatenate([examples, queued_examples]),
        np.concatenate([classes, queued_classes]),
        predicted_classes,
        preferred=preferred,
        rng=rng,
    )
    order = rng.permutation(len(examples) + len(seeds.examples))
    return filler.add_pairs(
        np.concatenate([examples, seeds.examples])[order],
        np.concatenate([classes, seeds.classes])[order],
        notes=_blind_notes(len(persons), len(examples), seeds),
    )


def _blind_notes(people: int, answers: int, seeds: Seeds) -> Iterator[str]:
    yield (
        f"novel answers of {amount(people, 'person', 'people')}: {answers:,}; "
        f"models' answers among them: {len(seeds.examples):,}"
    )
    if seeds.unanswered.size:
        yield f"without any model's answer, and so not blind: {amount(len(seeds.unanswered), 'image')}"


def _predictions_with_preference(
    store: Store,
    filler: QueueFiller,
    models: Iterable[str],
    scoring: MultilabelScoring,
    asked_pairs: tuple[IntArray, IntArray],
) -> tuple[IntArray, IntArray]:
    """Top-1 predictions (m, n) and their preference (m, n): 2 novel, 1 novel but in another queue, 0 judged."""
    target = filler.test_set
    review = store.reviews.read(target, scoring.labels)
    (examples, classes), predicted_classes, preferred = asked_pairs, [], []
    for model in models:
        predictions = store.predictions.read(target, model)
        judged = apply_review(predictions, scoring.judge(predictions, target), review, scoring.rule)
        level = np.where(judged.novel, 2, 0)
        level[examples[(predictions.top1[examples] == classes) & judged.novel[examples]]] = 1
        predicted_classes.append(predictions.top1)
        preferred.append(level)
    return np.stack(predicted_classes), np.stack(preferred)
