"""Second review: classes whose mistake was decided to be "no mistake" are judged again, which changes the labels."""

from __future__ import annotations

from regrade.core import InputError
from regrade.core.label_set import without_version
from regrade.core.panel import NO_MISTAKE
from regrade.ledger import Item, Ledger, NewItem, Question, Queue
from regrade.workspace.queue_filling import MAX_NAME_LENGTH


def judge_again(ledger: Ledger, queue: Queue, item: Item) -> Item:
    """The item that asks whether the class of a mistake decided as "no mistake" is correct.

    This is the existing item for the same labels, which can be reopened, otherwise a new one with the same overlap.
    """
    decided = ledger.decisions.current(item.id)
    if decided is None or decided.answer != NO_MISTAKE:
        raise InputError("only a mistake that was decided to be no mistake can be judged again")
    discussions = ledger.discussions
    same = (Question.JUDGE, queue.test_set, without_version(queue.labels))
    judging = [
        candidate
        for candidate in ledger.queues.all()
        if (candidate.question, candidate.test_set, without_version(candidate.labels)) == same
    ]
    existing = discussions.items_about_same_pair(item, judging)
    if existing:
        return existing[-1]
    name = f"second look {queue.name}"[:MAX_NAME_LENGTH].rstrip()
    again = next((candidate for candidate in judging if candidate.name == name), None) or ledger.queues.create(
        name, Question.JUDGE, test_set=queue.test_set, labels=queue.labels, overlap=queue.overlap
    )
    ledger.items.add(again, [NewItem(item.example, item.class_id)])
    (added,) = discussions.items_about_same_pair(item, [again])
    return added
