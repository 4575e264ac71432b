"""Helpers to open queues and cast votes."""

import itertools

from regrade.ledger import Ledger, NewItem, Question, Queue, Role, TopicFilter, VoteContent

_keys = itertools.count()


def people(ledger: Ledger, *names: str):
    """People by name, added if they are new."""
    stored = {person.name: person for person in ledger.people.all()}
    return [stored.get(name) or ledger.people.add(name, Role.REVIEWER) for name in names]


def queue_of(ledger: Ledger, name: str, pairs, *, question=Question.JUDGE, overlap=1, **options) -> Queue:
    """A queue with these images and classes."""
    queue = ledger.queues.create(name, question, overlap=overlap, **options)
    ledger.items.add(queue, [NewItem(*pair) for pair in pairs])
    return queue


def item_of(ledger: Ledger, queue: Queue, example: str, class_id: str = "") -> int:
    """The id of an item."""
    from sqlalchemy import select

    from regrade.ledger.schema import item

    where = (item.c.queue_id == queue.id, item.c.example == example, item.c["class"] == class_id)
    with ledger.engine.connect() as connection:
        return connection.execute(select(item.c.id).where(*where)).scalar_one()


def vote(ledger: Ledger, queue: Queue, person, pair, answer, **more):
    """Cast one vote."""
    return ledger.votes.cast(
        item_of(ledger, queue, *pair), person, VoteContent(f"key {next(_keys)}", answer, **more)
    ).vote


def disputed_items(ledger: Ledger, queue: Queue):
    """The items of a queue that have all votes and no decision."""
    return [topic.item for topic in ledger.discussions.topics(ledger.discussions.items(queue, TopicFilter()))]


def comments_on(ledger: Ledger, item_id: int):
    """All comments on an item, oldest first."""
    from sqlalchemy import select

    from regrade.ledger.schema import comment

    comments = select(comment).where(comment.c.item_id == item_id).order_by(comment.c.id)
    with ledger.engine.connect() as connection:
        return connection.execute(comments).all()


def visible_votes(ledger: Ledger, item_id: int, viewer):
    """The current votes on an item that a person may see."""
    return ledger.discussions.seen_by(item_id, viewer).standing
