"""Publish a queue of mistakes: the review of its model, with what people said about the same predictions of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from regrade.core import (
    AlreadyStored,
    InputError,
    MistakeAnnotations,
    MistakeCategory,
    ReusedFrom,
    Severity,
    TestSet,
)
from regrade.core.label_set import without_version
from regrade.core.panel import NO_MISTAKE
from regrade.store import Store
from regrade.studies.mistakes.pair_annotations import Pair, PairAnnotation, annotations_by_pair
from regrade.workspace.label_publishing import decided_pairs, decisions_of, origin_of
from regrade.workspace.queue_result import PublishResult, items_by_state

if TYPE_CHECKING:
    from regrade.ledger import Ledger, PublishedDecision, Queue


def publish_mistakes(store: Store, ledger: Ledger, queue: Queue, test_set: TestSet, *, dry_run: bool) -> PublishResult:
    """Store the review of the mistakes of a queue's model, if its decisions change anything.

    It contains the current decisions of all queues published for the model and replaces the earlier version. A mistake
    without a decision gets what people said about the same prediction of another model, if they did and agree.
    Decisions "no mistake" are left out. A review imported from a file is not replaced.
    """
    if not queue.model:
        raise InputError(f"queue {queue.name!r} has no model")
    reviewed_models = store.mistakes.names(test_set.name)
    stored = store.mistakes.read(test_set, queue.model) if queue.model in reviewed_models else None
    if stored is not None and not stored.queues:
        raise AlreadyStored(
            f"the mistakes of {queue.model!r} on {test_set.name} were imported from a file ({stored.origin}): "
            "remove that review first"
        )
    queues = tuple(dict.fromkeys([*(stored.queues if stored else ()), queue.name]))
    decisions = decisions_of(ledger, queues, test_set)
    decided = decided_pairs(decisions, test_set).decisions
    reused = _reused(store, ledger, queue, test_set, stored)
    last = {pair[0]: pair for pair in decided}  # an image has one prediction: the last decision counts
    additional = {pair: annotation for pair, annotation in reused.items() if pair[0] not in last}
    rows = [
        *(_decided_row(pair, decided[pair]) for pair in last.values() if decided[pair].answer != NO_MISTAKE),
        *(
            _Row(pair, annotation.category, annotation.severity, annotation.origin)
            for pair, annotation in additional.items()
        ),
    ]
    review = _review(rows, queue.model, test_set, origin_of(queues, decisions), queues)
    changes = _changes(stored, review)
    if changes and not dry_run:
        if len(review):
            store.mistakes.add(review, test_set)
        else:
            store.mistakes.remove(test_set.name, queue.model)
    parts = items_by_state(ledger.queues.progress(queue))
    written = bool(changes) and not dry_run
    notes = _notes(ledger, queue, review)
    return PublishResult(queue.name, f"mistakes of {queue.model}", changes, written, parts, notes)


def _reused(
    store: Store, ledger: Ledger, queue: Queue, test_set: TestSet, stored: MistakeAnnotations | None
) -> Mapping[Pair, PairAnnotation]:
    """What people said about the model's mistakes as mistakes of others; what is stored if its predictions are gone.

    The newest version of the labels decides what is a mistake.
    """
    from regrade.workspace.mistake_queue import mistake_labels, model_mistakes, reusable
    from regrade.workspace.mistake_reuse import other_reviews

    labels = without_version(queue.labels)
    has_labels = labels in {without_version(full) for full in store.labels.names(test_set.name)}
    if not has_labels or queue.model not in store.predictions.model_names(test_set.name):
        rows = {} if stored is None else annotations_by_pair(stored)
        return {pair: annotation for pair, annotation in rows.items() if annotation.origin.model != queue.model}
    mistakes = model_mistakes(store, test_set, mistake_labels(store, test_set, labels), queue.model)
    return reusable(mistakes, other_reviews(store, ledger, test_set, labels, queue.model))


@dataclass(frozen=True)
class _Row:
    """A row of a review; ``origin`` is None if it was decided for its model."""

    pair: Pair
    category: MistakeCategory
    severity: Severity
    origin: ReusedFrom | None = None


def _decided_row(pair: Pair, decision: PublishedDecision) -> _Row:
    return _Row(pair, MistakeCategory(decision.answer), Severity(decision.severity))


def _review(
    rows: Sequence[_Row], model: str, test_set: TestSet, origin: str, queues: tuple[str, ...]
) -> MistakeAnnotations:
    pairs = np.array([row.pair for row in rows], dtype=np.int64).reshape(-1, 2)
    reused = tuple(row.origin for row in rows)
    return MistakeAnnotations(
        model,
        test_set.name,
        len(test_set),
        len(test_set.class_space),
        pairs[:, 0],
        pairs[:, 1],
        tuple(row.category for row in rows),
        tuple(row.severity for row in rows),
        tuple(row.category.value for row in rows),
        origin,
        queues,
        reused if any(reused) else (),
    )


def _changes(stored: MistakeAnnotations | None, review: MistakeAnnotations) -> dict[str, int]:
    before, after = ({} if version is None else _annotations(version) for version in (stored, review))
    counts = {
        "added": len(after.keys() - before.keys()),
        "changed": sum(before[example] != after[example] for example in before.keys() & after.keys()),
        "taken back": len(before.keys() - after.keys()),
    }
    return {what: number for what, number in counts.items() if number}


def _annotations(review: MistakeAnnotations) -> dict[int, tuple[object, ...]]:
    columns = (review.classes.tolist(), review.categories, review.severities, review.origins)
    return {example: tuple(annotation) for example, *annotation in zip(review.examples.tolist(), *columns, strict=True)}


def _notes(ledger: Ledger, queue: Queue, review: MistakeAnnotations) -> tuple[str, ...]:
    """Where reused rows come from; and decisions "no mistake", which are left out until their class is judged again."""
    notes = []
    reused = [
        annotation for annotation in annotations_by_pair(review).values() if annotation.origin.model != queue.model
    ]
    if reused:
        from regrade.workspace.mistake_queue import origins_in_words

        notes.append(f"reused from the reviews of other models: {len(reused):,} ({origins_in_words(iter(reused))})")
    none = sum(decision.answer == NO_MISTAKE for decision in ledger.decisions.of_queue(queue))
    if none:
        notes.append(f"found to be no mistakes, and left out: {none:,} (have them judged again)")
    return tuple(notes)
