"""Concurrent access: nothing is given out, added or decided twice, and readers see one state."""

import threading
from functools import partial

import pytest
from sqlalchemy import event

from regrade.core import AlreadyStored, InputError
from regrade.ledger import Ledger, NewItem, Question, Role, VoteContent


def at_once(*calls):
    """Run calls concurrently and return the result or the error of each."""
    start, results = threading.Barrier(len(calls)), [None] * len(calls)

    def run(place, call):
        start.wait()
        try:
            results[place] = call()
        except Exception as error:
            results[place] = error

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_next_gives_an_item_to_one_of_many_people(ledger):
    people = [ledger.people.add(f"P{number}", Role.REVIEWER) for number in range(8)]
    for attempt in range(4):
        queue = ledger.queues.create(f"one {attempt}", Question.JUDGE, test_set="val", labels="real@1")
        ledger.items.add(queue, [NewItem("a.jpg", "n01"), NewItem("b.jpg", "n01")])
        items = at_once(*(partial(ledger.items.next, queue, person) for person in people))
        assert sorted(item.example for item in items if item is not None) == ["a.jpg", "b.jpg"]


def test_add_items_concurrently_adds_each_item_once(ledger, queue):
    def fill(number):
        return ledger.items.add(queue, [NewItem(f"{n}.jpg", "n01") for n in range(10 * number, 10 * number + 200)])

    added = at_once(*(partial(fill, number) for number in range(6)))
    assert sum(added) == len(set(ledger.items.pairs(queue))) == len(ledger.items.pairs(queue)) == 250


def test_current_decisions_reads_one_snapshot(ledger, panel):
    """A decision that is made while decisions are read is included with its votes, or not at all."""
    queue = ledger.queues.create("one", Question.JUDGE, test_set="val", labels="real@1")
    ledger.items.add(queue, [NewItem("a.jpg", "n01"), NewItem("b.jpg", "n01")])
    first = ledger.items.next(queue, panel[0])
    ledger.votes.cast(first.id, panel[0], VoteContent("first", "correct"))
    second = ledger.items.next(queue, panel[1])
    casting = [lambda: ledger.votes.cast(second.id, panel[1], VoteContent("second", "wrong"))]

    def after(_connection, _cursor, statement, *_):
        if casting and "FROM vote" in statement:
            casting.pop()()

    event.listen(ledger.engine, "after_cursor_execute", after)
    decisions = ledger.decisions.of_queue(queue)
    event.remove(ledger.engine, "after_cursor_execute", after)
    assert not casting
    assert [(decision.example, decision.by) for decision in decisions] == [(first.example, ("Ada",))]
    assert [decision.by for decision in ledger.decisions.of_queue(queue)] == [("Ada",), ("Bob",)]


def test_set_role_concurrently_keeps_one_owner(ledger):
    owners = [ledger.people.add(f"O{number}", Role.OWNER) for number in range(4)]
    results = at_once(*(partial(ledger.people.set_role, person, Role.REVIEWER) for person in owners))
    assert sum(isinstance(result, InputError) for result in results) == 1
    assert sum(person.role is Role.OWNER for person in ledger.people.all()) == 1


def test_accept_concurrently_works_once(ledger, panel):
    accounts = ledger.accounts
    token = accounts.invite(panel[0])
    passwords = [f"a long password {number}" for number in range(4)]
    results = at_once(*(partial(accounts.accept, token, password) for password in passwords))
    assert sum(isinstance(result, InputError) for result in results) == 3
    assert sum(accounts.sign_in("Ada", password) is not None for password in passwords) == 1


@pytest.mark.parametrize("overlap", [1, 2, 3])
def test_concurrent_votes_are_all_counted_and_decide_once(ledger, panel, overlap):
    queue = ledger.queues.create("panel", Question.JUDGE, test_set="val", labels="real@1", overlap=overlap)
    ledger.items.add(queue, [NewItem("a.jpg", "n01")])
    item = ledger.items.next(queue, panel[0])
    voters = panel[:overlap]
    results = at_once(
        *(
            partial(ledger.votes.cast, item.id, voter, VoteContent(f"{voter.name} first", "correct"))
            for voter in voters
        ),
        *(
            partial(ledger.votes.cast, item.id, voter, VoteContent(f"{voter.name} first", "correct"))
            for voter in voters
        ),
    )
    assert len({counted.vote.id for counted in results}) == overlap
    assert ledger.items.with_id(item.id).missing == 0
    assert [row["kind"] for row in ledger.rows()].count("decision") == 1


def test_concurrent_locks_decide_once(ledger, panel):
    queue = ledger.queues.create("panel", Question.JUDGE, test_set="val", labels="real@1", overlap=3)
    ledger.items.add(queue, [NewItem("a.jpg", "n01")])
    item = ledger.items.next(queue, panel[0])
    for person, answer in zip(panel, ("correct", "wrong", "correct"), strict=True):
        ledger.votes.cast(item.id, person, VoteContent(person.name, answer))
    changed = partial(ledger.votes.cast, item.id, panel[1], VoteContent("changed", "unclear", why="on second thought"))
    *_, change = results = at_once(*(partial(ledger.decisions.lock, item.id, person) for person in panel), changed)
    assert sum(isinstance(result, AlreadyStored) for result in results[:3]) == 2
    decision = ledger.decisions.current(item.id)
    assert decision.answer == "correct"
    if not isinstance(change, AlreadyStored):
        assert decision.last_vote == change.vote.id  # cast before the lock, which has taken it into account


def test_filling_a_postgres_ledger_is_exclusive(postgres):
    """This holds even for processes with separate workspaces, which do not share the workspace lock."""
    order, entered = [], threading.Event()
    first, second = Ledger.open(postgres), Ledger.open(postgres)

    def fill_second() -> None:
        entered.set()
        with second.queues.filling():
            order.append("second")

    with first.queues.filling():
        thread = threading.Thread(target=fill_second)
        thread.start()
        entered.wait()
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    first.engine.dispose()
    second.engine.dispose()
