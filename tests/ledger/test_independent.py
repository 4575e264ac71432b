"""What people said before they could see the others' votes."""

import pytest

from regrade.ledger import NewItem, Question, VoteContent


@pytest.fixture
def item(ledger, queue, panel):
    """One of three items."""
    ledger.add_items(queue, [NewItem(f"{n}.jpg", "cat") for n in range(3)])
    return ledger.next_item(queue, panel[0]).id


def say(ledger, item, person, answer, **more):
    key = f"{item} {person.name} {answer} {len(more)}"
    return ledger.vote(item, person, VoteContent(key, answer, **more))


def said(ledger, queue):
    return {(one.item_id, one.person): one.answer for one in ledger.independent_votes(queue)}


def test_votes_that_change_in_discussion_do_not_count(ledger, queue, item, panel):
    for person, answer in zip(panel, ("correct", "wrong", "correct"), strict=True):
        say(ledger, item, person, answer, seconds=3.0)
    say(ledger, item, panel[1], "correct", why="the tail")
    assert ledger.decision(item).reached == "unanimously"
    assert said(ledger, queue) == {(item, "Ada"): "correct", (item, "Bob"): "wrong", (item, "Cleo"): "correct"}
    assert {one.seconds for one in ledger.independent_votes(queue)} == {3.0}


def test_a_slip_that_was_taken_back_in_time_does_not_count(ledger, queue, item, panel):
    say(ledger, item, panel[0], "wrong")
    ledger.take_back(item, panel[0], key="undo", why="slip")
    assert said(ledger, queue) == {}
    say(ledger, item, panel[0], "correct")
    say(ledger, item, panel[1], "correct")
    assert said(ledger, queue) == {(item, "Ada"): "correct", (item, "Bob"): "correct"}
    say(ledger, item, panel[1], "unclear", why="looked again")
    assert said(ledger, queue)[item, "Bob"] == "unclear"


def test_what_is_taken_back_once_all_have_voted_still_counts(ledger, queue, item, panel):
    for person in panel:
        say(ledger, item, person, "wrong")
    ledger.take_back(item, panel[2], key="undo", why="saw the others")
    say(ledger, item, panel[2], "correct", why="saw the others")
    assert said(ledger, queue) == dict.fromkeys([(item, one.name) for one in panel], "wrong")


def test_other_queues_are_left_out(ledger, queue, panel):
    other = ledger.open_queue("other", Question.LABEL, test_set="val")
    ledger.add_items(other, [NewItem("1.jpg")])
    say(ledger, ledger.next_item(other, panel[0]).id, panel[0], "dog")
    assert said(ledger, queue) == {}
    assert list(said(ledger, other).values()) == ["dog"]


def test_revealed_are_items_that_all_have_voted_on(ledger, queue, item, panel):
    for person in panel[:2]:
        say(ledger, item, person, "correct")
    assert ledger.independent_votes(queue, revealed_only=True) == ()
    say(ledger, item, panel[2], "wrong")
    other = ledger.next_item(queue, panel[0]).id
    say(ledger, other, panel[0], "wrong")
    revealed = ledger.independent_votes(queue, revealed_only=True)
    assert [(vote.item_id, vote.person) for vote in revealed] == [(item, person.name) for person in panel]
