"""A second look: what a panel finds to be no mistake is judged again, since only judged classes change the labels."""

from __future__ import annotations

from regrade.core import InputError
from regrade.core.label_set import without_version
from regrade.core.panel import NO_MISTAKE
from regrade.ledger import Discussions, Item, Ledger, NewItem, Question, Queue
from regrade.workspace.queue_filling import LONGEST_NAME


def judge_again(ledger: Ledger, queue: Queue, item: Item) -> Item:
    """The item that asks whether the class of a mistake that was found to be none is right.

    That is the one it was judged by under the same labels, which can be opened again, or else a new one for as many.
    """
    decided = ledger.decision(item.id)
    if decided is None or decided.answer != NO_MISTAKE:
        raise InputError("only what was decided to be no mistake is judged again")
    discussions = Discussions(ledger.engine)
    same = (Question.JUDGE, queue.test_set, without_version(queue.labels))
    judging = [one for one in ledger.queues() if (one.question, one.test_set, without_version(one.labels)) == same]
    asked = discussions.items_about_same_pair(item, judging)
    if asked:
        return asked[-1]
    name = f"second look {queue.name}"[:LONGEST_NAME].rstrip()
    again = next((one for one in judging if one.name == name), None) or ledger.open_queue(
        name, Question.JUDGE, test_set=queue.test_set, labels=queue.labels, overlap=queue.overlap
    )
    ledger.add_items(again, [NewItem(item.example, item.class_id)])
    (added,) = discussions.items_about_same_pair(item, [again])
    return added
