"""Pending items of a person as votes are cast and retracted and items are added."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from random import Random
from threading import Event

import numpy as np
import pytest
from judging import item_of, queue_of, vote
from sqlalchemy import select

from regrade.ledger import NewItem, Question, Role
from regrade.ledger import pending as pending_module
from regrade.ledger.pending import PendingItems, PendingUntil
from regrade.ledger.schema import item
from regrade.ledger.voting import current_votes_on


@pytest.fixture
def tracked(ledger):
    return PendingItems(ledger.engine)


def places(tracked, person, queue, until):
    return np.flatnonzero(tracked.of(person, {queue.id: until})[queue.id]).tolist()


def expected(ledger, person, queue, until):
    """The pending places, computed item by item."""
    with ledger.engine.connect() as connection:
        rows = connection.execute(select(item).where(item.c.queue_id == queue.id).order_by(item.c.place)).mappings()
        for row in rows.all():
            answered = any(vote["person_id"] == person.id for vote in current_votes_on(connection, row["id"]))
            pending = {
                PendingUntil.ANSWERED: not answered,
                PendingUntil.SETTLED: not answered and row["missing"] > 0,
                PendingUntil.COMPLETE: row["missing"] > 0,
            }[until]
            if pending:
                yield row["place"]


@pytest.mark.parametrize(
    ("until", "after"),
    [(PendingUntil.ANSWERED, ([1], [1])), (PendingUntil.SETTLED, ([1], [])), (PendingUntil.COMPLETE, ([0, 1], []))],
)
def test_pending_items_end_with_own_answer_or_last_vote(ledger, panel, tracked, until, after):
    queue = queue_of(ledger, "novel", [("1", "cat"), ("2", "cat")], test_set="set", overlap=2)
    ada, bob, cleo = panel
    assert places(tracked, ada, queue, until) == [0, 1]
    vote(ledger, queue, ada, ("1", "cat"), "correct")
    assert places(tracked, ada, queue, until) == after[0]
    for person in (bob, cleo):
        vote(ledger, queue, person, ("2", "cat"), "wrong")
    vote(ledger, queue, bob, ("1", "cat"), "wrong")
    assert places(tracked, ada, queue, until) == after[1]


def test_pending_items_return_when_a_vote_is_taken_back(ledger, panel, tracked):
    queue = queue_of(ledger, "novel", [("1", "cat")], test_set="set")
    vote(ledger, queue, panel[0], ("1", "cat"), "correct")
    assert places(tracked, panel[0], queue, PendingUntil.ANSWERED) == []
    assert places(tracked, panel[1], queue, PendingUntil.SETTLED) == []
    ledger.votes.retract(item_of(ledger, queue, "1", "cat"), panel[0], key="back", why="slip")
    assert places(tracked, panel[0], queue, PendingUntil.ANSWERED) == [0]
    assert places(tracked, panel[1], queue, PendingUntil.SETTLED) == [0]


@pytest.fixture
def held_up(monkeypatch):
    """The first request waits, once it has read the database, until the event ``go`` is set."""
    read, go, update = Event(), Event(), pending_module._updated

    def wait_once(*arguments, **named):
        updated = update(*arguments, **named)
        if not read.is_set():
            read.set()
            assert go.wait(20), "the test has not released the first request"
        return updated

    monkeypatch.setattr(pending_module, "_updated", wait_once)
    return read, go


def test_a_slow_request_holds_up_no_other(ledger, panel, tracked, held_up):
    queue = queue_of(ledger, "novel", [("1", "cat"), ("2", "cat")], test_set="set")
    (read, go), (ada, bob, _) = held_up, panel
    with ThreadPoolExecutor(1) as thread:
        slow = thread.submit(places, tracked, ada, queue, PendingUntil.ANSWERED)
        try:
            assert read.wait(20)
            with ThreadPoolExecutor(1) as second_thread:
                quick = second_thread.submit(places, tracked, bob, queue, PendingUntil.ANSWERED)
                assert quick.result(timeout=10) == [0, 1]
            assert not slow.done()
        finally:
            go.set()
        assert slow.result(timeout=10) == [0, 1]


def test_a_request_that_ends_late_takes_nothing_back(ledger, panel, tracked, held_up, monkeypatch):
    monkeypatch.setattr(pending_module, "_OVERLAP", 0)
    queue = queue_of(ledger, "novel", [("1", "cat"), ("2", "cat"), ("3", "cat")], test_set="set")
    (read, go), (ada, *_) = held_up, panel
    with ThreadPoolExecutor(1) as thread:
        late = thread.submit(places, tracked, ada, queue, PendingUntil.ANSWERED)
        try:
            assert read.wait(20)
            vote(ledger, queue, ada, ("2", "cat"), "correct")
            assert places(tracked, ada, queue, PendingUntil.ANSWERED) == [0, 2]
        finally:
            go.set()
        assert late.result(timeout=10) == [0, 1, 2]
    assert places(tracked, ada, queue, PendingUntil.ANSWERED) == [0, 2]


def test_pending_items_of_no_queue_or_an_empty_queue(queue, panel, tracked):
    assert places(tracked, panel[0], queue, PendingUntil.SETTLED) == []
    assert tracked.of(panel[0], {}) == {}


@pytest.mark.parametrize("limits", [(64, 5_000), (0, 0)], ids=["incremental", "full read"])
def test_pending_items_equal_a_full_scan_after_any_events(ledger, panel, tracked, monkeypatch, limits):
    monkeypatch.setattr(pending_module, "_OVERLAP", limits[0])
    monkeypatch.setattr(pending_module, "_MOST_NEW", limits[1])
    rng, keys, examples = Random(0), itertools.count(), itertools.count()
    queues = [
        ledger.queues.create("judge", Question.JUDGE, test_set="set", overlap=2),
        ledger.queues.create("label", Question.LABEL, test_set="set", overlap=3),
    ]
    people = [*panel, ledger.people.add("Leo", Role.REVIEWER)]
    added = []
    for _ in range(60):
        queue, person = rng.choice(queues), rng.choice(people)
        match rng.choice(["add", "vote", "vote", "vote", "back"]):
            case "add":
                pair = (f"image {next(examples)}", "cat" if queue.question is Question.JUDGE else "")
                ledger.items.add(queue, [NewItem(*pair)])
                added.append((queue, pair))
            case "vote" if added:
                target, pair = rng.choice(added)
                if ledger.decisions.current(item_of(ledger, target, *pair)) is None:
                    vote(ledger, target, person, pair, rng.choice(["correct", "wrong"]), why="a change")
            case "back" if (last := ledger.votes.last(person, queue)) is not None:
                ledger.votes.retract(last.item_id, person, key=f"back {next(keys)}", why="slip")
        viewer = rng.choice(people)
        until = {queue.id: rng.choice(list(PendingUntil)) for queue in queues}
        pending = tracked.of(viewer, until)
        for queue in queues:
            full_scan = list(expected(ledger, viewer, queue, until[queue.id]))
            assert np.flatnonzero(pending[queue.id]).tolist() == full_scan
