"""Classes that a reviewer sees in an image and no model predicted: each becomes an item to judge, if it is new."""

from __future__ import annotations

from dataclasses import dataclass, replace

from regrade.core import AlreadyStored, InputError, LabelState, TestSet
from regrade.core.label_set import without_version
from regrade.ledger import Item, Ledger, NewItem, Person, Purpose, Question, Queue
from regrade.store import Store
from regrade.workspace.label_publishing import label_set_name
from regrade.workspace.queue_filling import MAX_NAME_LENGTH
from regrade.workspace.review_sample import purpose_of, review_of_labels


@dataclass(frozen=True)
class AddedClass:
    """The item about an added class, and its queue; or, if the class is not new, why, and the item about it if any."""

    queue: Queue | None
    item: Item | None
    refusal: str = ""


def add_class(
    store: Store, ledger: Ledger, queue: Queue, item: Item, class_id: str, *, by: Person, reason: str
) -> AddedClass:
    """Add an item about another class of an item's image; the person's own vote is not cast yet.

    A class that is judged, or asked about in any queue of the same labels, is not added again.
    """
    if queue.question is not Question.JUDGE:
        raise InputError(
            f"classes can be added to queues of classes to judge, and {queue.name!r} asks another question"
        )
    labels, test_set = label_set_name(queue), store.test_set(queue.test_set)
    class_index = test_set.class_space.index(class_id)
    same_pair = replace(item, class_id=class_id)
    judging = _judging_queues(ledger, queue)
    target = _queue_to_add_to(store, ledger, queue, test_set)
    existing = ledger.discussions.items_about_same_pair(same_pair, judging.values())
    own = [existing_item for existing_item in existing if target is not None and existing_item.queue_id == target.id]
    if existing and not (own and _was_added_by(ledger, own[0], by)):
        existing_item = existing[-1]
        decided = ledger.decisions.current(existing_item.id)
        state = f"judged {decided.answer}" if decided is not None else "being judged"
        return AddedClass(
            judging[existing_item.queue_id], existing_item, f"this class of the image is {state} in the queue already"
        )
    if not existing and (state := _judged_state(store, test_set, labels, test_set.position(item.example), class_index)):
        return AddedClass(None, None, f"this class of the image is judged {state} in the labels {labels} already")
    target = target or _new_queue(ledger, queue)
    try:
        added = ledger.proposals.add_class(target, NewItem(item.example, class_id), by, reason)
    except AlreadyStored as error:  # somebody else added it in this moment
        existing_item, *_ = ledger.discussions.items_about_same_pair(same_pair, [target])
        return AddedClass(target, existing_item, str(error))
    return AddedClass(target, added)


def _judging_queues(ledger: Ledger, queue: Queue) -> dict[int, Queue]:
    """The queues that judge classes of the same images under the same labels, by id."""
    same = (Question.JUDGE, queue.test_set, without_version(queue.labels))
    return {
        candidate.id: candidate
        for candidate in ledger.queues.all()
        if (candidate.question, candidate.test_set, without_version(candidate.labels)) == same
    }


def _queue_to_add_to(store: Store, ledger: Ledger, queue: Queue, test_set: TestSet) -> Queue | None:
    """The queue itself; for a random sample, which an added item would bias, the queue beside it, if there is one."""
    if purpose_of(store, ledger, queue, test_set) is Purpose.CENSUS:
        return queue
    name = _name_beside(queue)
    return next((candidate for candidate in _judging_queues(ledger, queue).values() if candidate.name == name), None)


def _new_queue(ledger: Ledger, queue: Queue) -> Queue:
    """The queue beside a random sample, for the same people and with the same number of votes."""
    created = ledger.queues.create(
        _name_beside(queue), Question.JUDGE, test_set=queue.test_set, labels=queue.labels, overlap=queue.overlap
    )
    ledger.queues.assign(created, ledger.queues.assigned(queue))
    return created


def _name_beside(queue: Queue) -> str:
    return f"added to {queue.name}"[:MAX_NAME_LENGTH].rstrip()


def _was_added_by(ledger: Ledger, item: Item, person: Person) -> bool:
    return any(proposal.person == person.name for proposal in ledger.proposals.of_item(item.id))


def _judged_state(store: Store, test_set: TestSet, labels: str, position: int, class_index: int) -> str:
    """How a class of an image is judged in the newest labels or their review; empty if it is not.

    A class that a complete list leaves out was not judged by itself, and can be added.
    """
    newest = store.labels.read(test_set, labels)
    rows = (newest.examples == position) & (newest.classes == class_index)
    states = newest.states[rows].tolist()
    review = review_of_labels(store, test_set, labels)
    if review is not None and not states:
        states = review.states[(review.examples == position) & (review.classes == class_index)].tolist()
    judged = [LabelState(state) for state in states if state != LabelState.UNJUDGED]
    return judged[0].name.lower() if judged else ""
