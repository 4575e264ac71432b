"""Publish decisions on mistakes as the review of a model's mistakes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from regrade.core import AlreadyStored, InputError, MistakeAnnotations, MistakeCategory, Severity, TestSet
from regrade.core.panel import NO_MISTAKE
from regrade.store import Store
from regrade.workspace.label_publishing import decided_pairs, decisions_of, origin_of
from regrade.workspace.publish_result import PublishResult, items_by_state

if TYPE_CHECKING:
    from regrade.ledger import Ledger, Queue


def publish_mistakes(store: Store, ledger: Ledger, queue: Queue, test_set: TestSet, *, dry_run: bool) -> PublishResult:
    """Store the review of the mistakes of a queue's model, if its decisions change anything.

    It contains the current decisions of all queues published for the model and replaces the earlier version.
    Decisions "no mistake" are left out. A review imported from a file is not replaced.
    """
    if not queue.model:
        raise InputError(f"queue {queue.name!r} has no model")
    reviewed_models = store.mistake_review_names(test_set.name)
    stored = store.mistake_review(test_set, queue.model) if queue.model in reviewed_models else None
    if stored is not None and not stored.queues:
        raise AlreadyStored(
            f"the mistakes of {queue.model!r} on {test_set.name} were imported from a file ({stored.origin}): "
            "remove that review first"
        )
    queues = tuple(dict.fromkeys([*(stored.queues if stored else ()), queue.name]))
    review = _review(ledger, queues, queue.model, test_set)
    changes = _changes(stored, review)
    if changes and not dry_run:
        if len(review):
            store.add_mistake_review(review, test_set)
        else:
            store.remove_mistake_review(test_set.name, queue.model)
    parts = items_by_state(ledger.queues.progress(queue))
    written = bool(changes) and not dry_run
    return PublishResult(queue.name, f"mistakes of {queue.model}", changes, written, parts, _notes(ledger, queue))


def _notes(ledger: Ledger, queue: Queue) -> tuple[str, ...]:
    """Note on decisions "no mistake": they are left out, and judging their class again would change the labels."""
    none = sum(decision.answer == NO_MISTAKE for decision in ledger.decisions.of_queue(queue))
    return (f"found to be no mistakes, and left out: {none:,} (have them judged again)",) if none else ()


def _review(ledger: Ledger, queues: tuple[str, ...], model: str, test_set: TestSet) -> MistakeAnnotations:
    decisions = decisions_of(ledger, queues, test_set)
    pairs = decided_pairs(decisions, test_set).decisions
    last = {example: (class_index, decision) for (example, class_index), decision in pairs.items()}
    last = {example: annotation for example, annotation in last.items() if annotation[1].answer != NO_MISTAKE}
    categories = tuple(MistakeCategory(decision.answer) for _, decision in last.values())
    return MistakeAnnotations(
        model,
        test_set.name,
        len(test_set),
        len(test_set.class_space),
        np.array(list(last), dtype=np.int64),
        np.array([class_index for class_index, _ in last.values()], dtype=np.int64),
        categories,
        tuple(Severity(decision.severity) for _, decision in last.values()),
        tuple(category.value for category in categories),
        origin_of(queues, decisions),
        queues,
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
    columns = (review.classes.tolist(), review.categories, review.severities)
    return {example: tuple(annotation) for example, *annotation in zip(review.examples.tolist(), *columns, strict=True)}
