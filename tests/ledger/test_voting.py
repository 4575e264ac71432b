"""Votes: cast, changed with a reason, retracted, and never lost, doubled or overwritten."""

import pytest
from judging import visible_votes
from sqlalchemy import text
from sqlalchemy.exc import DatabaseError

from regrade.core import AlreadyStored, InputError, UnknownName
from regrade.ledger import NewItem, Question, VoteContent


@pytest.fixture
def item(ledger, queue, panel):
    ledger.items.add(queue, [NewItem("a.jpg", "n01")])
    return ledger.items.next(queue, panel[0])


def test_vote_stores_person_time_and_reason(ledger, panel, item, clock):
    before = clock.time
    vote = ledger.votes.cast(item.id, panel[0], VoteContent("k1", "problematic", reason="drawing", seconds=2.5)).vote
    assert (vote.answer, vote.reason, vote.seconds, vote.person_id) == ("problematic", "drawing", 2.5, panel[0].id)
    assert before < vote.at <= clock.time
    assert ledger.items.with_id(item.id).missing == 2


def test_vote_is_idempotent(ledger, panel, item):
    first = ledger.votes.cast(item.id, panel[0], VoteContent("k1", "correct")).vote
    assert ledger.votes.cast(item.id, panel[0], VoteContent("k1", "correct")).vote == first
    assert ledger.items.with_id(item.id).missing == 2


def test_vote_rejects_a_key_of_another_vote(ledger, panel, item):
    ledger.votes.cast(item.id, panel[0], VoteContent("k1", "correct"))
    with pytest.raises(AlreadyStored, match="another vote"):
        ledger.votes.cast(item.id, panel[1], VoteContent("k1", "correct"))
    with pytest.raises(AlreadyStored, match="another vote"):
        ledger.votes.cast(item.id, panel[0], VoteContent("k1", "wrong", why="slip"))


def test_changed_vote_needs_a_reason_and_replaces_the_first(ledger, panel, item):
    first = ledger.votes.cast(item.id, panel[0], VoteContent("k1", "correct")).vote
    with pytest.raises(InputError, match="give a reason"):
        ledger.votes.cast(item.id, panel[0], VoteContent("k2", "wrong"))
    second = ledger.votes.cast(item.id, panel[0], VoteContent("k3", "wrong", why="looked again")).vote
    assert (second.replaces, second.why) == (first.id, "looked again")
    assert ledger.items.with_id(item.id).missing == 2
    assert [vote.answer for vote in visible_votes(ledger, item.id, panel[0])] == ["wrong"]
    assert [row["answer"] for row in ledger.rows() if row["kind"] == "vote"] == ["correct", "wrong"]


def test_vote_can_be_retracted_and_cast_again(ledger, queue, panel, item):
    ledger.votes.cast(item.id, panel[0], VoteContent("k1", "correct"))
    assert ledger.votes.last(panel[0], queue).answer == "correct"
    ledger.votes.cast(item.id, panel[0], VoteContent("k2", None, why="undo"))
    assert ledger.items.with_id(item.id).missing == 3
    assert ledger.votes.last(panel[0], queue) is None
    assert visible_votes(ledger, item.id, panel[0]) == ()
    with pytest.raises(InputError, match="no vote on this item to take back"):
        ledger.votes.cast(item.id, panel[0], VoteContent("k3", None, why="undo"))
    ledger.votes.cast(item.id, panel[0], VoteContent("k4", "unclear"))
    assert ledger.items.with_id(item.id).missing == 2


def test_votes_of_others_are_hidden_until_all_have_voted(ledger, panel, item):
    ledger.votes.cast(item.id, panel[0], VoteContent("a", "correct"))
    ledger.votes.cast(item.id, panel[1], VoteContent("b", "wrong"))
    assert [vote.person_id for vote in visible_votes(ledger, item.id, panel[0])] == [panel[0].id]
    assert visible_votes(ledger, item.id, panel[2]) == ()
    ledger.votes.cast(item.id, panel[2], VoteContent("c", "wrong"))
    assert len(visible_votes(ledger, item.id, panel[0])) == 3


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (VoteContent("k", "maybe"), "unknown answer"),
        (VoteContent("k", "correct", severity="major"), "only a mistake"),
        (VoteContent("k", "correct", seconds=-1.0), "seconds"),
        (VoteContent("k", "correct", seconds=float("nan")), "seconds"),
    ],
)
def test_vote_rejects_invalid_content(ledger, panel, item, content, words):
    with pytest.raises(InputError, match=words):
        ledger.votes.cast(item.id, panel[0], content)
    assert ledger.items.with_id(item.id).missing == 3


def test_vote_on_a_mistake_needs_a_severity(ledger, panel):
    queue = ledger.queues.create("mistakes", Question.MISTAKE, test_set="val", labels="real@1")
    ledger.items.add(queue, [NewItem("a.jpg", "n01")])
    item = ledger.items.next(queue, panel[0])
    with pytest.raises(UnknownName, match="severity"):
        ledger.votes.cast(item.id, panel[0], VoteContent("k", "fine-grained"))
    ledger.votes.cast(item.id, panel[0], VoteContent("k", "fine-grained", severity="minor"))
    decision = ledger.decisions.current(item.id)
    assert (decision.answer, decision.severity, decision.reached) == ("fine-grained", "minor", "unanimously")


@pytest.mark.parametrize("change", ["UPDATE vote SET answer = 'wrong'", "DELETE FROM vote"])
def test_votes_cannot_be_changed_with_sql(ledger, panel, item, change):
    ledger.votes.cast(item.id, panel[0], VoteContent("k", "correct"))
    with pytest.raises(DatabaseError, match="append-only"), ledger.engine.begin() as connection:
        connection.execute(text(change))
    assert visible_votes(ledger, item.id, panel[0])[0].answer == "correct"


def test_vote_rejects_an_unknown_item(ledger, panel):
    with pytest.raises(UnknownName, match="unknown item"):
        ledger.votes.cast(99, panel[0], VoteContent("k", "correct"))


class TestTakeBack:
    """Undo of one's own vote, even if it has decided the item."""

    def test_retract_reverts_the_decision_by_a_single_vote(self, ledger, panel):
        queue = ledger.queues.create("alone", Question.JUDGE, test_set="val")
        ledger.items.add(queue, [NewItem("a.jpg", "n01")])
        item = ledger.items.next(queue, panel[0])
        ledger.votes.cast(item.id, panel[0], VoteContent("k1", "correct"))
        assert ledger.decisions.current(item.id).answer == "correct"
        taken = ledger.votes.retract(item.id, panel[0], key="k2", why="slip")
        assert (taken.answer, taken.why) == (None, "slip")
        assert ledger.decisions.current(item.id) is None
        assert ledger.items.next(queue, panel[0]) == item
        ledger.votes.cast(item.id, panel[0], VoteContent("k3", "wrong"))
        assert ledger.decisions.current(item.id).answer == "wrong"

    def test_retract_is_idempotent(self, ledger, panel, item):
        ledger.votes.cast(item.id, panel[0], VoteContent("k1", "correct"))
        first = ledger.votes.retract(item.id, panel[0], key="k2", why="slip")
        assert ledger.votes.retract(item.id, panel[0], key="k2", why="slip") == first
        assert ledger.items.with_id(item.id).missing == 3

    def test_retract_rejects_an_item_decided_after_discussion(self, ledger, panel, item):
        for person, answer in zip(panel, ("correct", "correct", "wrong"), strict=True):
            ledger.votes.cast(item.id, person, VoteContent(f"k{person.id}", answer))
        ledger.decisions.lock(item.id, panel[0])
        with pytest.raises(AlreadyStored, match="after discussion"):
            ledger.votes.retract(item.id, panel[2], key="k9", why="slip")
        assert ledger.decisions.current(item.id).answer == "correct"

    def test_retract_rejects_an_item_without_a_vote(self, ledger, panel, item):
        with pytest.raises(InputError, match="no vote"):
            ledger.votes.retract(item.id, panel[0], key="k1", why="slip")
