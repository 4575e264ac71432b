"""Proposals: classes that reviewers add, corrections that visitors propose through links, and their rate limits."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.core import AlreadyStored
from regrade.ledger import Claim, Ledger, NewItem, Question, QueueFull, Rate, Role, proposals
from regrade.ledger.proposals import MAX_PER_ITEM
from regrade.ledger.schema import sign_in_attempts

FOX = NewItem("a.jpg", "n-fox")


@pytest.fixture
def queue(ledger):
    return ledger.queues.create("novel", Question.JUDGE, test_set="val", labels="real@1", overlap=2)


@pytest.fixture
def ada(ledger):
    return ledger.people.add("Ada", Role.REVIEWER)


def test_added_class_is_an_item_like_any_other(ledger, queue, ada):
    item = ledger.proposals.add_class(queue, FOX, ada, "its tail")
    assert (item.example, item.class_id, item.missing, item.needed) == ("a.jpg", "n-fox", 2, 2)
    assert ledger.items.pairs(queue) == (("a.jpg", "n-fox"),)
    [proposal] = ledger.proposals.of_item(item.id)
    assert (proposal.person, proposal.by, proposal.claim, proposal.reason) == ("Ada", "Ada", Claim.MISSING, "its tail")
    assert ledger.problems() == ()


def test_adding_a_class_again_gives_its_item_to_the_same_person_only(ledger, queue, ada):
    item = ledger.proposals.add_class(queue, FOX, ada)
    assert ledger.proposals.add_class(queue, FOX, ada).id == item.id
    assert ledger.proposals.count(queue) == 1
    with pytest.raises(AlreadyStored, match="in the queue already"):
        ledger.proposals.add_class(queue, FOX, ledger.people.add("Bob", Role.REVIEWER))


def test_predicted_class_cannot_be_added(ledger, queue, ada):
    ledger.items.add(queue, [FOX])
    with pytest.raises(AlreadyStored, match="in the queue already"):
        ledger.proposals.add_class(queue, FOX, ada)
    assert ledger.proposals.count(queue) == 0


def test_second_proposal_counts_and_adds_no_item(ledger, queue):
    first = ledger.proposals.propose(queue, FOX, Claim.MISSING, "a fox", visitor="Vera")
    second = ledger.proposals.propose(queue, FOX, Claim.WRONG, "no fox")
    assert first.id == second.id
    assert [proposal.by for proposal in ledger.proposals.of_item(first.id)] == ["visitor Vera", "a visitor"]
    assert ledger.queues.progress(queue).items == 1
    assert ledger.problems() == ()


def test_proposal_that_is_sent_twice_is_stored_once(ledger, queue):
    for _ in range(2):
        ledger.proposals.propose(queue, FOX, Claim.MISSING, "a fox")
    assert ledger.proposals.count(queue) == 1


def test_proposals_about_one_item_are_limited(ledger, queue):
    for number in range(MAX_PER_ITEM + 5):
        item = ledger.proposals.propose(queue, FOX, Claim.MISSING, f"reason {number}")
    assert len(ledger.proposals.of_item(item.id)) == MAX_PER_ITEM


def test_full_queue_accepts_no_new_items(ledger, queue, monkeypatch):
    monkeypatch.setattr(proposals, "MAX_OPEN", 2)
    for name in ("a", "b"):
        ledger.proposals.propose(queue, NewItem(name, "n-fox"), Claim.MISSING, "")
    with pytest.raises(QueueFull):
        ledger.proposals.propose(queue, NewItem("c", "n-fox"), Claim.MISSING, "")
    ledger.proposals.propose(queue, NewItem("a", "n-fox"), Claim.MISSING, "seen again")
    assert (ledger.queues.progress(queue).items, ledger.proposals.count(queue)) == (2, 3)


@pytest.mark.parametrize("statement", ["UPDATE proposal SET reason = 'x'", "DELETE FROM proposal"])
def test_proposals_are_append_only(ledger, queue, statement):
    ledger.proposals.propose(queue, FOX, Claim.MISSING, "a fox")
    with pytest.raises(Exception, match="append-only"), ledger.engine.begin() as connection:
        connection.exec_driver_sql(statement)


def test_verify_names_a_changed_proposal(tmp_path):
    ledger = Ledger.open(tmp_path / "ledger.sqlite")
    queue = ledger.queues.create("novel", Question.JUDGE, test_set="val", labels="real@1")
    ledger.proposals.propose(queue, FOX, Claim.MISSING, "a fox")
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as client, client:
        client.execute("DROP TRIGGER proposal_no_update")
        client.execute("UPDATE proposal SET reason = 'a dog'")
    assert any("proposal 1" in problem for problem in ledger.problems())
    ledger.engine.dispose()


def test_link_leads_to_its_queue_until_it_is_ended(ledger, queue):
    assert ledger.proposals.links() == ()
    first = ledger.proposals.new_link(queue)
    assert ledger.proposals.queue_of_link(first) == queue
    second = ledger.proposals.new_link(queue)
    assert ledger.proposals.queue_of_link(first) is None, "a new link ends the earlier one"
    [link] = ledger.proposals.links()
    assert (link.queue, link.ended) == (queue, None)
    assert ledger.proposals.end_link(queue)
    assert ledger.proposals.queue_of_link(second) is None
    assert not ledger.proposals.end_link(queue)
    assert ledger.proposals.links()[0].ended is not None


def test_token_of_a_link_is_not_stored(tmp_path):
    ledger = Ledger.open(tmp_path / "ledger.sqlite")
    queue = ledger.queues.create("novel", Question.JUDGE, test_set="val", labels="real@1")
    token = ledger.proposals.new_link(queue)
    ledger.engine.dispose()
    assert token.encode() not in (tmp_path / "ledger.sqlite").read_bytes()


NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def test_rate_by_hand():
    """Three at once, then one per 10 seconds: after three requests at noon, the clock is 30 s ahead, 20 s allowed."""
    rate, clock = Rate(3, timedelta(seconds=10)), NOON
    for _ in range(3):
        assert rate.wait(clock, NOON) == 0
        clock = rate.advanced(clock, NOON)
    assert rate.wait(clock, NOON) == 10
    assert rate.wait(clock, NOON + timedelta(seconds=4)) == 6
    assert rate.wait(clock, NOON + timedelta(seconds=10)) == 0


@given(st.lists(st.floats(0, 20), max_size=60), st.integers(1, 5))
def test_no_window_admits_more_than_the_rate(gaps, burst):
    rate, clock, now, admitted = Rate(burst, timedelta(seconds=10)), NOON, NOON, []
    for gap in gaps:
        now += timedelta(seconds=gap)
        if rate.wait(clock, now) == 0:
            clock = rate.advanced(clock, now)
            admitted.append(now)
    for place, begin in enumerate(admitted):
        for count, end in enumerate(admitted[place:], 1):
            assert count <= burst + (end - begin).total_seconds() / 10 + 1e-6


def test_rate_limits_are_per_source_and_do_not_count_refusals(ledger):
    rate = {"address": Rate(2, timedelta(seconds=60))}
    assert [ledger.rate_limits.reserve(rate) for _ in range(2)] == [0, 0]
    waits = [ledger.rate_limits.reserve(rate) for _ in range(20)]
    assert all(0 < wait <= 60 for wait in waits)
    assert ledger.rate_limits.reserve({"another": Rate(2, timedelta(seconds=60))}) == 0
    with ledger.engine.connect() as connection:
        rows = connection.execute(sign_in_attempts.select()).all()
    assert sorted(row.count for row in rows) == [1, 2]
    assert "address" not in repr(rows)


def test_class_that_two_people_add_at_once_is_one_item(ledger, queue, ada):
    people = [ada, *(ledger.people.add(name, Role.REVIEWER) for name in ("Bob", "Cleo", "Dora"))]

    def add(person):
        try:
            return ledger.proposals.add_class(queue, FOX, person).id
        except AlreadyStored:
            return None

    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(add, people))
    assert len([result for result in results if result is not None]) == 1
    assert (ledger.queues.progress(queue).items, ledger.proposals.count(queue)) == (1, 1)
    assert ledger.problems() == ()


def test_concurrent_requests_are_counted_one_by_one(ledger):
    rate = {"address": Rate(3, timedelta(hours=1))}
    with ThreadPoolExecutor(8) as threads:
        waits = list(threads.map(lambda _: ledger.rate_limits.reserve(rate), range(16)))
    assert waits.count(0) == 3
