"""Selections: answers to grids by worker and since a vote, tasks that were given, and the answers a task needs."""

import pytest

from regrade.ledger import NewItem, Question, VoteContent, WorkerEvent


@pytest.fixture
def grids(ledger):
    queue = ledger.queues.create("grids", Question.SELECT, test_set="pool", build="v2", overlap=2)
    ledger.items.add(queue, [NewItem(f"task-{number}", "n01") for number in range(3)])
    return queue


def answer(ledger, queue, worker, answer="01", *, key):
    item = ledger.items.next(queue, worker)
    ledger.votes.cast(item.id, worker, VoteContent(key, answer, seconds=3.0))
    return item


def needs(ledger, queue):
    return {item.example: (item.needed, item.missing) for item in ledger.selections.tasks(queue)}


def test_answers_are_read_by_worker_and_since_a_vote(ledger, grids):
    first, second = (link.worker for link in ledger.workers.add(2))
    items = [answer(ledger, grids, first, key=f"key-first-{n}") for n in range(2)]
    answer(ledger, grids, second, "10", key="key-second")
    own = ledger.selections.of_worker([grids], first)
    assert [(row.item_id, row.answer, row.seconds) for row in own] == [(item.id, "01", 3.0) for item in items]
    newer = ledger.selections.since(grids, own[-1].id)
    assert [(row.worker, row.answer) for row in newer] == [(second.name, "10")]
    assert ledger.selections.newest(grids) == newer[-1].id


def test_a_task_is_given_until_it_is_answered_or_returned(ledger, grids):
    first, second = (link.worker for link in ledger.workers.add(2))
    item = ledger.items.next(grids, first)
    assert ledger.selections.is_given(item.id, first) and not ledger.selections.is_given(item.id, second)
    ledger.items.skip(item.id, first)
    assert not ledger.selections.is_given(item.id, first)
    assert ledger.selections.returned(grids) == {item.id: 1}
    answered = answer(ledger, grids, first, key="key-answered")
    assert not ledger.selections.is_given(answered.id, first)


def test_required_answers_never_drop_below_those_given(ledger, grids):
    workers = [link.worker for link in ledger.workers.add(2)]
    item = answer(ledger, grids, workers[0], key="key-of-one")
    ids = {each.example: each.id for each in ledger.selections.tasks(grids)}
    assert ledger.selections.require(grids, dict.fromkeys(ids.values(), 0)) == 3
    expected = {example: (1, 0) if number == item.id else (0, 0) for example, number in ids.items()}
    assert needs(ledger, grids) == expected
    assert ledger.items.next(grids, workers[1]) is None
    ledger.selections.require(grids, {item.id: 3})
    assert needs(ledger, grids)[item.example] == (3, 2)
    assert ledger.items.next(grids, workers[1]).id == item.id
    assert ledger.problems() == ()


def test_rows_of_a_task_that_needs_no_answer_are_imported(ledger, grids, tmp_path):
    from regrade.ledger import Ledger

    ids = [item.id for item in ledger.selections.tasks(grids)]
    ledger.selections.require(grids, dict.fromkeys(ids, 0))
    copy = Ledger.open(tmp_path / "copy.sqlite")
    copy.import_rows(ledger.rows())
    assert needs(copy, copy.queues.named("grids")) == needs(ledger, grids)


def test_an_event_is_logged_only_if_nothing_happened_since(ledger, grids):
    [link] = ledger.workers.add(1)
    first = ledger.workers.log_after(0, grids, link.worker, WorkerEvent.CONSENTED)
    assert ledger.workers.log_after(0, grids, link.worker, WorkerEvent.CONSENTED) is None
    second = ledger.workers.log_after(first.id, grids, link.worker, WorkerEvent.WARNED, reason="9 of 12")
    assert [event.id for event in ledger.workers.events(grids)] == [first.id, second.id]
    assert ledger.problems() == ()
