"""A second look: what a panel finds to be no mistake is judged again, since only judged classes change the labels."""

from __future__ import annotations

from regrade.core import InputError
from regrade.core.panel import NO_MISTAKE
from regrade.ledger import Discussions, Item, Ledger, NewItem, Question, Queue

_LONGEST = 80  # letters of a queue's name


def judge_again(ledger: Ledger, queue: Queue, item: Item) -> Item:
    """The item that asks whether the class of a mistake that was found to be none is right.

    That is the one it was judged by, which can be opened again, or else a new one for as many people.
    """
    decided = ledger.decision(item.id)
    if decided is None or decided.answer != NO_MISTAKE:
        raise InputError("only what was decided to be no mistake is judged again")
    discussions = Discussions(ledger.engine)
    judging = [one for one in ledger.queues() if (one.question, one.test_set) == (Question.JUDGE, queue.test_set)]
    asked = discussions.pair_elsewhere(item, judging)
    if asked:
        return asked[-1]
    name = f"second look {queue.name}"[:_LONGEST]
    again = next((one for one in judging if one.name == name), None) or ledger.open_queue(
        name, Question.JUDGE, test_set=queue.test_set, labels=queue.labels, overlap=queue.overlap
    )
    ledger.add_items(again, [NewItem(item.example, item.class_id)])
    (added,) = discussions.pair_elsewhere(item, [again])
    return added
