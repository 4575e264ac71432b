"""The reveal: after all votes on an item were cast, changing a vote needs a reason."""

import pytest
from judging import visible_votes

from regrade.core import AlreadyStored, InputError, ReasonNeeded
from regrade.ledger import Mode, NewItem, Question, Role, VoteContent
from regrade.ledger.voting import was_complete


@pytest.fixture
def item(ledger, queue):
    return add_item(ledger, queue)


def add_item(ledger, queue):
    ledger.items.add(queue, [NewItem("a.jpg", "n01")])
    person = ledger.people.all()[0] if ledger.people.all() else ledger.people.add("First", Role.REVIEWER)
    return ledger.items.next(queue, person).id


def vote_all(ledger, item, people, answers):
    for person, answer in zip(people, answers, strict=True):
        ledger.votes.cast(item, person, VoteContent(f"{person.name} first", answer))


def visible_answers(ledger, item, viewer):
    return [vote.answer for vote in visible_votes(ledger, item, viewer)]


@pytest.mark.parametrize("answers", [("correct", "wrong", "wrong"), ("wrong", "wrong", "wrong")])
@pytest.mark.parametrize("reason", ["", "   ", "undone at once"])
def test_retract_after_reveal_needs_a_reason(ledger, panel, item, answers, reason):
    vote_all(ledger, item, panel, answers)
    decision = ledger.decisions.current(item)
    with pytest.raises(ReasonNeeded, match="give a reason"):
        ledger.votes.retract(item, panel[2], key="undo", why=reason)
    assert visible_answers(ledger, item, panel[0]) == list(answers)
    assert ledger.decisions.current(item) == decision
    taken = ledger.votes.retract(item, panel[2], key="undo", why="there is a tail")
    assert (taken.answer, taken.why) == (None, "there is a tail")
    assert ledger.decisions.current(item) is None


def test_vote_after_a_revealed_take_back_needs_a_reason(ledger, panel, item):
    vote_all(ledger, item, panel, ("correct", "wrong", "wrong"))
    ledger.votes.retract(item, panel[2], key="undo", why="there is a tail")
    with pytest.raises(ReasonNeeded, match="give a reason"):
        ledger.votes.cast(item, panel[2], VoteContent("anew", "correct"))
    assert ledger.items.with_id(item).missing == 1
    again = ledger.votes.cast(item, panel[2], VoteContent("anew", "correct", why="there is a tail")).vote
    assert (again.answer, again.why) == ("correct", "there is a tail")


def test_retract_before_reveal_needs_no_reason(ledger, panel, item):
    ledger.votes.cast(item, panel[0], VoteContent("first", "correct"))
    ledger.votes.cast(item, panel[1], VoteContent("second", "correct"))
    assert ledger.votes.retract(item, panel[1], key="undo").why == "undone at once"
    assert not ledger.votes.is_revealed(item, panel[1])
    assert ledger.votes.cast(item, panel[1], VoteContent("anew", "wrong")).vote.why == ""


def test_first_vote_of_another_person_needs_no_reason(ledger, panel, item):
    fourth = ledger.people.add("Dora", Role.REVIEWER)
    vote_all(ledger, item, panel, ("correct", "wrong", "wrong"))
    ledger.votes.retract(item, panel[2], key="undo", why="no idea")
    assert ledger.votes.cast(item, fourth, VoteContent("dora", "wrong")).vote.why == ""


def test_is_revealed_stays_true_after_a_vote_is_taken_back(ledger, panel, item):
    assert not ledger.votes.is_revealed(item, panel[0])
    vote_all(ledger, item, panel, ("correct", "wrong", "wrong"))
    ledger.votes.retract(item, panel[2], key="undo", why="no idea")
    assert ledger.items.with_id(item).missing == 1
    assert ledger.votes.is_revealed(item, panel[0])
    with pytest.raises(ReasonNeeded):
        ledger.votes.retract(item, panel[0], key="another undo")


def test_retract_of_the_only_vote_needs_no_reason(ledger, panel):
    """An item that needs one vote has no other votes to see."""
    queue = ledger.queues.create("alone", Question.JUDGE, test_set="val")
    item = add_item(ledger, queue)
    ledger.votes.cast(item, panel[0], VoteContent("slip", "correct"))
    ledger.votes.retract(item, panel[0], key="undo")
    ledger.votes.cast(item, panel[0], VoteContent("meant", "wrong"))
    assert ledger.decisions.current(item).answer == "wrong"
    ledger.decisions.reopen(item, panel[1], why="I doubt it")
    ledger.votes.cast(item, panel[1], VoteContent("on top", "correct"))
    with pytest.raises(ReasonNeeded):
        ledger.votes.retract(item, panel[0], key="late undo")


@pytest.mark.parametrize(
    ("mode", "role", "revealed"),
    [
        (Mode.EXAMINATION, Role.LABELER, False),
        (Mode.EXAMINATION, Role.REVIEWER, True),
        (Mode.TRAINING, Role.REVIEWER, False),
    ],
)
def test_is_revealed_depends_on_mode_and_role(ledger, panel, mode, role, revealed):
    queue = ledger.queues.create("labels", Question.LABEL, test_set="val", overlap=2, mode=mode)
    person = ledger.people.add("Leo", role)
    item = add_item(ledger, queue)
    ledger.votes.cast(item, panel[0], VoteContent("ada", "cat"))
    ledger.votes.cast(item, person, VoteContent("leo", "dog"))
    assert ledger.votes.is_revealed(item, person) is revealed


def test_retract_retracts_only_the_named_vote(ledger, panel, item):
    ledger.votes.cast(item, panel[0], VoteContent("first", "correct"))
    ledger.votes.cast(item, panel[0], VoteContent("changed", "wrong", why="looked again"))
    with pytest.raises(AlreadyStored, match="changed elsewhere"):
        ledger.votes.retract(item, panel[0], key="undo", undone="first")
    assert visible_answers(ledger, item, panel[0]) == ["wrong"]
    taken = ledger.votes.retract(item, panel[0], key="undo", undone="changed")
    assert visible_answers(ledger, item, panel[0]) == []
    for key in ("undo", "the same undo in another tab"):
        assert ledger.votes.retract(item, panel[0], key=key, undone="changed") == taken
    with pytest.raises(InputError, match="no vote on this item"):
        ledger.votes.retract(item, panel[1], key="another", undone="never cast")


def test_independent_leave_out_votes_after_the_reveal(ledger, queue, panel, item):
    vote_all(ledger, item, panel, ("correct", "wrong", "wrong"))
    ledger.votes.retract(item, panel[0], key="undo", why="saw the others")
    ledger.votes.cast(item, panel[0], VoteContent("anew", "wrong", why="saw the others"))
    assert ledger.decisions.current(item).answer == "wrong"
    assert [vote.answer for vote in ledger.votes.independent(queue)] == ["correct", "wrong", "wrong"]


@pytest.mark.parametrize(
    ("votes", "needed", "complete"),
    [
        ([], 2, False),
        ([(1, "a"), (2, "a")], 2, True),
        ([(1, "a"), (1, None), (2, "a")], 2, False),
        ([(1, "a"), (1, "b")], 2, False),
        ([(2, "a")], 1, True),
        ([(1, "a"), (1, None), (2, "a"), (2, None)], 1, True),
    ],
)
def test_was_complete_counts_voters(votes, needed, complete):
    assert was_complete(votes, needed=needed, person_id=1) is complete
