"""Workers of a crowd: links, events and final answers."""

from datetime import UTC, datetime, timedelta

import pytest

from regrade.core import AlreadyStored, InputError
from regrade.ledger import NewItem, Question, Role, VoteContent, WorkerEvent
from regrade.ledger.workers import LINK_LASTS, Workers


@pytest.fixture
def grids(ledger):
    queue = ledger.queues.create("grids", Question.SELECT, test_set="pool", build="v2", overlap=2)
    ledger.items.add(queue, [NewItem("task-1", "n01")])
    return queue


def test_add_numbers_workers_on(ledger):
    first = ledger.workers.add(2)
    ledger.people.add("worker-0004", Role.WORKER)
    second = ledger.workers.add(2)
    names = [link.worker.name for link in (*first, *second)]
    assert names == ["worker-0001", "worker-0002", "worker-0003", "worker-0005"]
    assert len({link.token for link in (*first, *second)}) == 4
    with pytest.raises(InputError, match="at least 1"):
        ledger.workers.add(0)


def test_link_signs_in_its_worker_until_it_ends(ledger):
    first, second = ledger.workers.add(2)
    again = ledger.workers.link(first.worker)
    assert ledger.workers.holder(first.token) == ledger.workers.holder(again) == first.worker
    assert ledger.workers.holder("unknown") is None
    ledger.workers.end_links(first.worker)
    assert ledger.workers.holder(first.token) is ledger.workers.holder(again) is None
    assert ledger.workers.holder(second.token) == second.worker
    ledger.accounts.close(second.worker)
    assert ledger.workers.holder(second.token) is None


def test_link_expires(ledger):
    [link] = ledger.workers.add(1)
    later = Workers(ledger.engine, clock=lambda: datetime.now(UTC) + LINK_LASTS + timedelta(seconds=1))
    assert later.holder(link.token) is None


def test_link_is_for_workers_only(ledger):
    with pytest.raises(InputError, match="Olga is not a worker"):
        ledger.workers.link(ledger.people.add("Olga", Role.OWNER))
    [link] = ledger.workers.add(1)
    ledger.people.set_role(link.worker, Role.REVIEWER)
    assert ledger.workers.holder(link.token) is None


def test_events_are_logged_in_the_chain(ledger, grids):
    olga = ledger.people.add("Olga", Role.OWNER)
    first, second = (link.worker for link in ledger.workers.add(2))
    ledger.workers.log(grids, first, WorkerEvent.CONSENTED)
    ledger.workers.log(grids, second, WorkerEvent.EXCLUDED, reason="12 of 30 controls")
    with pytest.raises(InputError, match="give a reason"):
        ledger.workers.log(grids, second, WorkerEvent.REINSTATED, by=olga)
    ledger.workers.log(grids, second, WorkerEvent.REINSTATED, by=olga, reason="the class was ambiguous")
    events = [(event.worker, event.event.value, event.reason, event.by) for event in ledger.workers.events(grids)]
    assert events == [
        ("worker-0001", "consented", "", None),
        ("worker-0002", "excluded", "12 of 30 controls", None),
        ("worker-0002", "reinstated", "the class was ambiguous", "Olga"),
    ]
    assert len(ledger.workers.events(grids, second)) == 2
    assert ledger.problems() == ()
    assert ledger.last_link().position == 3


def test_events_cannot_be_changed(ledger, grids):
    [link] = ledger.workers.add(1)
    ledger.workers.log(grids, link.worker, WorkerEvent.EXCLUDED)
    for statement in ("UPDATE worker_event SET event = 'reinstated'", "DELETE FROM worker_event"):
        with pytest.raises(Exception, match="append-only"), ledger.engine.begin() as connection:
            connection.exec_driver_sql(statement)


def test_selections_are_final(ledger, grids):
    [link] = ledger.workers.add(1)
    item = ledger.items.next(grids, link.worker)
    ledger.votes.cast(item.id, link.worker, VoteContent("first", "0110"))
    assert ledger.votes.cast(item.id, link.worker, VoteContent("first", "0110")).vote.answer == "0110"
    with pytest.raises(AlreadyStored, match="not changed"):
        ledger.votes.cast(item.id, link.worker, VoteContent("second", "0111", why="a slip"))
    with pytest.raises(AlreadyStored, match="not changed"):
        ledger.votes.retract(item.id, link.worker, key="third", why="a slip")


@pytest.mark.parametrize("answer", ["", "012", "cat", "1 0"])
def test_selection_of_another_form_is_refused(ledger, grids, answer):
    [link] = ledger.workers.add(1)
    item = ledger.items.next(grids, link.worker)
    with pytest.raises(InputError, match="not a selection"):
        ledger.votes.cast(item.id, link.worker, VoteContent("key", answer))
