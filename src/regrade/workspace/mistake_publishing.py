"""Decisions on mistakes become the review of a model's mistakes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from regrade.core import AlreadyStored, InputError, MistakeCategory, MistakeReview, Severity, TestSet
from regrade.core.panel import NO_MISTAKE
from regrade.store import Store
from regrade.workspace.label_publishing import decided_pairs, origin_of, outcomes_of
from regrade.workspace.publish_result import PublishResult, decided_parts

if TYPE_CHECKING:
    from regrade.ledger import Ledger, Queue


def publish_mistakes(store: Store, ledger: Ledger, queue: Queue, test_set: TestSet, *, dry_run: bool) -> PublishResult:
    """The review of the mistakes of a queue's model, if its decisions change anything.

    It holds the decisions that stand in all queues published for the model and replaces what they said before, which
    the ledger still has. What was found to be no mistake is left out. A review that came from a file is not replaced.
    """
    if not queue.model:
        raise InputError(f"queue {queue.name!r} names no model whose mistakes it asks about")
    known = store.mistake_review_names(test_set.name)
    stored = store.mistake_review(test_set, queue.model) if queue.model in known else None
    if stored is not None and not stored.queues:
        raise AlreadyStored(
            f"another review of the mistakes of {queue.model!r} on {test_set.name} came from a file ({stored.origin}): "
            "remove it first"
        )
    queues = tuple(dict.fromkeys([*(stored.queues if stored else ()), queue.name]))
    review = _review(ledger, queues, queue.model, test_set)
    changes = _changes(stored, review)
    if changes and not dry_run:
        if len(review):
            store.add_mistake_review(review, test_set)
        else:
            store.remove_mistake_review(test_set.name, queue.model)
    parts = decided_parts(ledger.progress(queue))
    written = bool(changes) and not dry_run
    return PublishResult(queue.name, f"mistakes of {queue.model}", changes, written, parts, _notes(ledger, queue))


def _notes(ledger: Ledger, queue: Queue) -> tuple[str, ...]:
    """What was found to be no mistake is left out, and its class is to be judged again: that changes the labels."""
    none = sum(one.answer == NO_MISTAKE for one in ledger.current_decisions(queue))
    return (f"found to be no mistakes, and left out: {none:,} (have them judged again)",) if none else ()


def _review(ledger: Ledger, queues: tuple[str, ...], model: str, test_set: TestSet) -> MistakeReview:
    outcomes = outcomes_of(ledger, queues, test_set)
    pairs = decided_pairs(outcomes, test_set).outcomes
    last = {example: (class_index, one) for (example, class_index), one in pairs.items()}
    last = {example: said for example, said in last.items() if said[1].answer != NO_MISTAKE}
    categories = tuple(MistakeCategory(one.answer) for _, one in last.values())
    return MistakeReview(
        model,
        test_set.name,
        len(test_set),
        len(test_set.class_space),
        np.array(list(last), dtype=np.int64),
        np.array([class_index for class_index, _ in last.values()], dtype=np.int64),
        categories,
        tuple(Severity(one.severity) for _, one in last.values()),
        tuple(category.value for category in categories),
        origin_of(queues, outcomes),
        queues,
    )


def _changes(stored: MistakeReview | None, review: MistakeReview) -> dict[str, int]:
    before, after = ({} if one is None else _said(one) for one in (stored, review))
    counts = {
        "added": len(after.keys() - before.keys()),
        "changed": sum(before[example] != after[example] for example in before.keys() & after.keys()),
        "taken back": len(before.keys() - after.keys()),
    }
    return {what: number for what, number in counts.items() if number}


def _said(review: MistakeReview) -> dict[int, tuple[object, ...]]:
    columns = (review.classes.tolist(), review.categories, review.severities)
    return {example: tuple(said) for example, *said in zip(review.examples.tolist(), *columns, strict=True)}
