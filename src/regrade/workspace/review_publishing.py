"""Publish a queue: write its decisions to files that every study reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regrade.core import TestSet
from regrade.store import Store
from regrade.workspace.label_publishing import publish_labels
from regrade.workspace.ledger_note import note_last_link, noted_ledger
from regrade.workspace.mistake_publishing import publish_mistakes
from regrade.workspace.people_publishing import publish_people
from regrade.workspace.publish_result import PublishResult
from regrade.workspace.sample_publishing import publish_sample, sampled_review

if TYPE_CHECKING:
    from regrade.ledger import Ledger, Queue


def publish_queue(store: Store, ledger: Ledger, name: str, *, dry_run: bool) -> PublishResult:
    """Write a queue's decisions as labels, decisions of a review, a review of mistakes, or answers of people."""
    from regrade.ledger import Question

    queue = ledger.queues.named(name)
    with store.transaction():  # reads and writes are atomic
        test_set = store.test_set(queue.test_set)
        match queue.question:
            case Question.JUDGE:
                published = _publish_judged(store, ledger, queue, test_set, dry_run=dry_run)
            case Question.MISTAKE:
                published = publish_mistakes(store, ledger, queue, test_set, dry_run=dry_run)
            case Question.LABEL:
                published = publish_people(store, ledger, queue, test_set, dry_run=dry_run)
        if published.written or (not dry_run and noted_ledger(store) is None):
            note_last_link(store, ledger)
    return published


def _publish_judged(store: Store, ledger: Ledger, queue: Queue, test_set: TestSet, *, dry_run: bool) -> PublishResult:
    """Publish to the review if all items were drawn for it at random, otherwise as a new version of the labels."""
    frame = sampled_review(store, ledger, queue, test_set)
    if frame is None:
        return publish_labels(store, ledger, queue, test_set, dry_run=dry_run)
    return publish_sample(store, ledger, queue, test_set, frame, dry_run=dry_run)
