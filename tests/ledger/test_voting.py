"""Votes: added, changed with a reason, taken back, and never lost, doubled or overwritten."""

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DatabaseError

from regrade.core import AlreadyStored, InputError, UnknownName
from regrade.ledger import NewItem, Question, VoteContent


@pytest.fixture
def item(ledger, queue, panel):
    ledger.add_items(queue, [NewItem("a.jpg", "n01")])
    return ledger.next_item(queue, panel[0])


def test_a_vote_is_kept_with_who_when_and_why(ledger, panel, item, clock):
    before = clock.time
    vote = ledger.vote(item.id, panel[0], VoteContent("k1", "problematic", reason="drawing", seconds=2.5))
    assert (vote.answer, vote.reason, vote.seconds, vote.person_id) == ("problematic", "drawing", 2.5, panel[0].id)
    assert before < vote.at <= clock.time
    assert ledger.item(item.id).missing == 2


def test_the_same_ballot_twice_counts_once(ledger, panel, item):
    first = ledger.vote(item.id, panel[0], VoteContent("k1", "correct"))
    assert ledger.vote(item.id, panel[0], VoteContent("k1", "correct")) == first
    assert ledger.item(item.id).missing == 2


def test_a_key_is_for_one_vote(ledger, panel, item):
    ledger.vote(item.id, panel[0], VoteContent("k1", "correct"))
    with pytest.raises(AlreadyStored, match="another vote"):
        ledger.vote(item.id, panel[1], VoteContent("k1", "correct"))
    with pytest.raises(AlreadyStored, match="another vote"):
        ledger.vote(item.id, panel[0], VoteContent("k1", "wrong", why="slip"))


def test_a_change_is_a_new_vote_with_a_reason(ledger, panel, item):
    first = ledger.vote(item.id, panel[0], VoteContent("k1", "correct"))
    with pytest.raises(InputError, match="say why"):
        ledger.vote(item.id, panel[0], VoteContent("k2", "wrong"))
    second = ledger.vote(item.id, panel[0], VoteContent("k3", "wrong", why="looked again"))
    assert (second.replaces, second.why) == (first.id, "looked again")
    assert ledger.item(item.id).missing == 2
    assert [vote.answer for vote in ledger.votes_seen_by(item.id, panel[0])] == ["wrong"]
    assert [row["answer"] for row in ledger.rows() if row["kind"] == "vote"] == ["correct", "wrong"]


def test_a_vote_is_taken_back_and_given_anew(ledger, queue, panel, item):
    ledger.vote(item.id, panel[0], VoteContent("k1", "correct"))
    assert ledger.last_vote_of(panel[0], queue).answer == "correct"
    ledger.vote(item.id, panel[0], VoteContent("k2", None, why="undo"))
    assert ledger.item(item.id).missing == 3
    assert ledger.last_vote_of(panel[0], queue) is None
    assert ledger.votes_seen_by(item.id, panel[0]) == ()
    with pytest.raises(InputError, match="no vote on this item to take back"):
        ledger.vote(item.id, panel[0], VoteContent("k3", None, why="undo"))
    ledger.vote(item.id, panel[0], VoteContent("k4", "unclear"))
    assert ledger.item(item.id).missing == 2


def test_no_one_sees_others_votes_before_all_have_voted(ledger, panel, item):
    ledger.vote(item.id, panel[0], VoteContent("a", "correct"))
    ledger.vote(item.id, panel[1], VoteContent("b", "wrong"))
    assert [vote.person_id for vote in ledger.votes_seen_by(item.id, panel[0])] == [panel[0].id]
    assert ledger.votes_seen_by(item.id, panel[2]) == ()
    ledger.vote(item.id, panel[2], VoteContent("c", "wrong"))
    assert len(ledger.votes_seen_by(item.id, panel[0])) == 3


@pytest.mark.parametrize(
    ("ballot", "words"),
    [
        (VoteContent("k", "maybe"), "unknown answer"),
        (VoteContent("k", "correct", severity="major"), "only a mistake"),
        (VoteContent("k", "correct", seconds=-1.0), "seconds"),
        (VoteContent("k", "correct", seconds=float("nan")), "seconds"),
    ],
)
def test_answers_that_the_question_does_not_know(ledger, panel, item, ballot, words):
    with pytest.raises(InputError, match=words):
        ledger.vote(item.id, panel[0], ballot)
    assert ledger.item(item.id).missing == 3


def test_a_mistake_has_a_kind_and_a_severity(ledger, panel):
    queue = ledger.open_queue("mistakes", Question.MISTAKE, test_set="val", labels="real@1")
    ledger.add_items(queue, [NewItem("a.jpg", "n01")])
    item = ledger.next_item(queue, panel[0])
    with pytest.raises(UnknownName, match="severity"):
        ledger.vote(item.id, panel[0], VoteContent("k", "fine-grained"))
    ledger.vote(item.id, panel[0], VoteContent("k", "fine-grained", severity="minor"))
    decision = ledger.decision(item.id)
    assert (decision.answer, decision.severity, decision.reached) == ("fine-grained", "minor", "unanimously")


@pytest.mark.parametrize("change", ["UPDATE vote SET answer = 'wrong'", "DELETE FROM vote"])
def test_no_tool_can_change_a_vote(ledger, panel, item, change):
    ledger.vote(item.id, panel[0], VoteContent("k", "correct"))
    with pytest.raises(DatabaseError, match="append-only"), ledger.engine.begin() as connection:
        connection.execute(text(change))
    assert ledger.votes_seen_by(item.id, panel[0])[0].answer == "correct"


def test_an_item_that_is_not_there(ledger, panel):
    with pytest.raises(UnknownName, match="unknown item"):
        ledger.vote(99, panel[0], VoteContent("k", "correct"))


class TestTakingBack:
    """Undo: one's own vote, even where it has decided the item by itself."""

    def test_a_decision_of_one_falls_with_the_vote(self, ledger, panel):
        queue = ledger.open_queue("alone", Question.JUDGE, test_set="val")
        ledger.add_items(queue, [NewItem("a.jpg", "n01")])
        item = ledger.next_item(queue, panel[0])
        ledger.vote(item.id, panel[0], VoteContent("k1", "correct"))
        assert ledger.decision(item.id).answer == "correct"
        taken = ledger.take_back(item.id, panel[0], key="k2", why="slip")
        assert (taken.answer, taken.why) == (None, "slip")
        assert ledger.decision(item.id) is None
        assert ledger.next_item(queue, panel[0]) == item
        ledger.vote(item.id, panel[0], VoteContent("k3", "wrong"))
        assert ledger.decision(item.id).answer == "wrong"

    def test_it_counts_once_however_often_it_comes(self, ledger, panel, item):
        ledger.vote(item.id, panel[0], VoteContent("k1", "correct"))
        first = ledger.take_back(item.id, panel[0], key="k2", why="slip")
        assert ledger.take_back(item.id, panel[0], key="k2", why="slip") == first
        assert ledger.item(item.id).missing == 3

    def test_what_was_locked_after_discussion_stays(self, ledger, panel, item):
        for person, answer in zip(panel, ("correct", "correct", "wrong"), strict=True):
            ledger.vote(item.id, person, VoteContent(f"k{person.id}", answer))
        ledger.lock(item.id, panel[0])
        with pytest.raises(AlreadyStored, match="after discussion"):
            ledger.take_back(item.id, panel[2], key="k9", why="slip")
        assert ledger.decision(item.id).answer == "correct"

    def test_where_there_is_no_vote_there_is_nothing_to_take_back(self, ledger, panel, item):
        with pytest.raises(InputError, match="no vote"):
            ledger.take_back(item.id, panel[0], key="k1", why="slip")
