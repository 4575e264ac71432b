"""Publish a queue: write its decisions to files that every study reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regrade.core import InputError
from regrade.store import Store
from regrade.workspace.label_publishing import publish_labels
from regrade.workspace.ledger_note import note_last_link, noted_ledger
from regrade.workspace.mistake_publishing import publish_mistakes
from regrade.workspace.people_publishing import publish_people
from regrade.workspace.publish_result import PublishResult
from regrade.workspace.sample_publishing import publish_sample, purpose_of

if TYPE_CHECKING:
    from regrade.ledger import Ledger

_PUBLISHERS = {
    ("judge", "census"): publish_labels,
    ("judge", "random sample"): publish_sample,
    ("mistake", "census"): publish_mistakes,
    ("label", "census"): publish_people,
}
"""What a queue becomes, by its question and its purpose."""


def publish_queue(store: Store, ledger: Ledger, name: str, *, dry_run: bool) -> PublishResult:
    """Write a queue's decisions as labels, decisions on a sample, annotations of mistakes, or people's answers."""
    queue = ledger.queues.named(name)
    with store.transaction():  # reads and writes are atomic
        test_set = store.test_set(queue.test_set)
        purpose = purpose_of(store, ledger, queue, test_set)
        publish = _PUBLISHERS.get((queue.question.name, purpose.value))
        if publish is None:
            raise InputError(
                f"answers to the question {queue.question.name!r} are not published: read them with "
                "regrade review export, or in Python with ledger.decisions.of_queue"
            )
        published = publish(store, ledger, queue, test_set, dry_run=dry_run)
        if queue.purpose is None and not dry_run:
            ledger.queues.record_purpose(queue, purpose)
        if published.written or (not dry_run and noted_ledger(store) is None):
            note_last_link(store, ledger)
    return published
