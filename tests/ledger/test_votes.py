"""Independent votes: those cast before their voters could see the others' votes."""

import pytest
from counted_statements import counted

from regrade.ledger import NewItem, Question, VoteContent

MOST = {"sqlite": {"next": 6, "vote": 8}, "postgresql": {"next": 6, "vote": 6}}


@pytest.fixture
def item(ledger, queue, panel):
    """One of three items."""
    ledger.items.add(queue, [NewItem(f"{n}.jpg", "cat") for n in range(3)])
    return ledger.items.next(queue, panel[0]).id


def vote(ledger, item, person, answer, **more):
    key = f"{item} {person.name} {answer} {len(more)}"
    return ledger.votes.cast(item, person, VoteContent(key, answer, **more)).vote


def answers(ledger, queue):
    return {(vote.item_id, vote.person): vote.answer for vote in ledger.votes.independent(queue)}


def test_changes_in_discussion_are_not_independent(ledger, queue, item, panel):
    for person, answer in zip(panel, ("correct", "wrong", "correct"), strict=True):
        vote(ledger, item, person, answer, seconds=3.0)
    vote(ledger, item, panel[1], "correct", why="the tail")
    assert ledger.decisions.current(item).reached == "unanimously"
    assert answers(ledger, queue) == {(item, "Ada"): "correct", (item, "Bob"): "wrong", (item, "Cleo"): "correct"}
    assert {vote.seconds for vote in ledger.votes.independent(queue)} == {3.0}


def test_votes_retracted_before_the_reveal_are_not_counted(ledger, queue, item, panel):
    vote(ledger, item, panel[0], "wrong")
    ledger.votes.retract(item, panel[0], key="undo", why="slip")
    assert answers(ledger, queue) == {}
    vote(ledger, item, panel[0], "correct")
    vote(ledger, item, panel[1], "correct")
    assert answers(ledger, queue) == {(item, "Ada"): "correct", (item, "Bob"): "correct"}
    vote(ledger, item, panel[1], "unclear", why="looked again")
    assert answers(ledger, queue)[item, "Bob"] == "unclear"


def test_votes_retracted_after_the_reveal_are_counted(ledger, queue, item, panel):
    for person in panel:
        vote(ledger, item, person, "wrong")
    ledger.votes.retract(item, panel[2], key="undo", why="saw the others")
    vote(ledger, item, panel[2], "correct", why="saw the others")
    assert answers(ledger, queue) == dict.fromkeys([(item, person.name) for person in panel], "wrong")


def test_independent_are_of_one_queue(ledger, queue, panel):
    label_queue = ledger.queues.create("label", Question.LABEL, test_set="val")
    ledger.items.add(label_queue, [NewItem("1.jpg")])
    vote(ledger, ledger.items.next(label_queue, panel[0]).id, panel[0], "dog")
    assert answers(ledger, queue) == {}
    assert list(answers(ledger, label_queue).values()) == ["dog"]


def test_revealed_only_leaves_out_incomplete_items(ledger, queue, item, panel):
    for person in panel[:2]:
        vote(ledger, item, person, "correct")
    assert ledger.votes.independent(queue, revealed_only=True) == ()
    vote(ledger, item, panel[2], "wrong")
    incomplete = ledger.items.next(queue, panel[0]).id
    vote(ledger, incomplete, panel[0], "wrong")
    revealed = ledger.votes.independent(queue, revealed_only=True)
    assert [(vote.item_id, vote.person) for vote in revealed] == [(item, person.name) for person in panel]


def test_vote_and_next_item_take_few_statements(ledger, panel, queue):
    ledger.items.add(queue, [NewItem(f"image {number}", "cat") for number in range(100)])
    most = MOST[ledger.engine.dialect.name]
    for number, person in enumerate(panel * 2):
        with counted(ledger.engine) as next_item:
            item = ledger.items.next(queue, person)
        with counted(ledger.engine) as vote:
            ledger.votes.cast(item.id, person, VoteContent(f"key {number}", "wrong"))
        assert len(next_item.statements) <= most["next"], next_item.statements
        assert len(vote.statements) <= most["vote"], vote.statements
        assert (next_item.connections, vote.connections) == (1, 1)
    assert ledger.problems() == ()


def test_vote_locks_the_chain_in_the_message_that_commits(ledger, panel, queue):
    """Other voters wait for the database, and never for a process that holds the lock."""
    if ledger.engine.dialect.name != "postgresql":
        return  # a single writer
    ledger.items.add(queue, [NewItem("a.jpg", "cat")])
    for person in panel:  # the last vote decides
        with counted(ledger.engine) as vote:
            ledger.votes.cast(1, person, VoteContent(person.name, "wrong"))
        *before, last = vote.statements
        assert "advisory" in last and last.endswith("COMMIT")
        assert not any("advisory" in statement for statement in before)
    assert ledger.decisions.current(1) is not None
