"""Many people at the same moment: nothing is given out, added or decided twice, and who reads sees one state."""

import threading
from functools import partial

import pytest
from sqlalchemy import event

from regrade.core import AlreadyStored, InputError
from regrade.ledger import Accounts, Ledger, NewItem, Question, Role, VoteContent


def at_once(*calls):
    """What calls give, or raise, that all begin at the same moment."""
    start, results = threading.Barrier(len(calls)), [None] * len(calls)

    def run(place, call):
        start.wait()
        try:
            results[place] = call()
        except Exception as error:
            results[place] = error

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(calls)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return results


def test_an_item_for_one_person_is_given_to_one(ledger):
    people = [ledger.add_person(f"P{number}", Role.REVIEWER) for number in range(8)]
    for attempt in range(4):
        queue = ledger.open_queue(f"one {attempt}", Question.JUDGE, test_set="val", labels="real@1")
        ledger.add_items(queue, [NewItem("a.jpg", "n01"), NewItem("b.jpg", "n01")])
        given = at_once(*(partial(ledger.next_item, queue, person) for person in people))
        assert sorted(one.example for one in given if one is not None) == ["a.jpg", "b.jpg"]


def test_items_that_come_from_two_sides_are_all_there_once(ledger, queue):
    def fill(number):
        return ledger.add_items(queue, [NewItem(f"{n}.jpg", "n01") for n in range(10 * number, 10 * number + 200)])

    added = at_once(*(partial(fill, number) for number in range(6)))
    assert sum(added) == len(set(ledger.pairs(queue))) == len(ledger.pairs(queue)) == 250


def test_who_publishes_while_people_vote_sees_one_state(ledger, panel):
    """A decision that is made while decisions are read is in them with its votes, or not at all."""
    queue = ledger.open_queue("one", Question.JUDGE, test_set="val", labels="real@1")
    ledger.add_items(queue, [NewItem("a.jpg", "n01"), NewItem("b.jpg", "n01")])
    first = ledger.next_item(queue, panel[0])
    ledger.vote(first.id, panel[0], VoteContent("first", "correct"))
    second = ledger.next_item(queue, panel[1])
    casting = [lambda: ledger.vote(second.id, panel[1], VoteContent("second", "wrong"))]

    def after(_connection, _cursor, statement, *_):
        if casting and "FROM vote" in statement:
            casting.pop()()

    event.listen(ledger.engine, "after_cursor_execute", after)
    found = ledger.outcomes(queue)
    event.remove(ledger.engine, "after_cursor_execute", after)
    assert not casting
    assert [(one.example, one.by) for one in found] == [(first.example, ("Ada",))]
    assert [one.by for one in ledger.outcomes(queue)] == [("Ada",), ("Bob",)]


def test_one_owner_stays_where_two_step_down(ledger):
    owners = [ledger.add_person(f"O{number}", Role.OWNER) for number in range(4)]
    results = at_once(*(partial(ledger.set_role, person, Role.REVIEWER) for person in owners))
    assert sum(isinstance(one, InputError) for one in results) == 1
    assert sum(one.role is Role.OWNER for one in ledger.people()) == 1


def test_an_invitation_is_good_for_one(ledger, panel):
    accounts = Accounts(ledger.engine)
    word = accounts.invite(panel[0])
    passwords = [f"a long password {number}" for number in range(4)]
    results = at_once(*(partial(accounts.accept, word, password) for password in passwords))
    assert sum(isinstance(one, InputError) for one in results) == 3
    assert sum(accounts.sign_in("Ada", password) is not None for password in passwords) == 1


@pytest.mark.parametrize("overlap", [1, 2, 3])
def test_people_who_vote_at_once_are_all_counted_and_decide_once(ledger, panel, overlap):
    queue = ledger.open_queue("panel", Question.JUDGE, test_set="val", labels="real@1", overlap=overlap)
    ledger.add_items(queue, [NewItem("a.jpg", "n01")])
    item = ledger.next_item(queue, panel[0])
    voters = panel[:overlap]
    results = at_once(
        *(partial(ledger.vote, item.id, one, VoteContent(f"{one.name} first", "correct")) for one in voters),
        *(partial(ledger.vote, item.id, one, VoteContent(f"{one.name} first", "correct")) for one in voters),
    )
    assert len({one.id for one in results}) == overlap
    assert ledger.item(item.id).missing == 0
    assert [row["kind"] for row in ledger.rows()].count("decision") == 1


def test_a_panel_is_decided_once_where_all_lock_at_once(ledger, panel):
    queue = ledger.open_queue("panel", Question.JUDGE, test_set="val", labels="real@1", overlap=3)
    ledger.add_items(queue, [NewItem("a.jpg", "n01")])
    item = ledger.next_item(queue, panel[0])
    for person, answer in zip(panel, ("correct", "wrong", "correct"), strict=True):
        ledger.vote(item.id, person, VoteContent(person.name, answer))
    changed = partial(ledger.vote, item.id, panel[1], VoteContent("changed", "unclear", why="on second thought"))
    *_, change = results = at_once(*(partial(ledger.lock, item.id, one) for one in panel), changed)
    assert sum(isinstance(one, AlreadyStored) for one in results[:3]) == 2
    decided = ledger.decision(item.id)
    assert decided.answer == "correct"
    if not isinstance(change, AlreadyStored):
        assert decided.last_vote == change.id  # it came before the lock, which then has taken it into account


def test_fillers_of_a_postgres_ledger_wait_for_each_other(postgres):
    """Even where they use workspaces of their own, whose locks do not know each other."""
    order, entered = [], threading.Event()
    first, second = Ledger.open(postgres), Ledger.open(postgres)

    def fill_second() -> None:
        entered.set()
        with second.filling():
            order.append("second")

    with first.filling():
        thread = threading.Thread(target=fill_second)
        thread.start()
        entered.wait()
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    first.engine.dispose()
    second.engine.dispose()
