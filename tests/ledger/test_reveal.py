"""The reveal: after all votes on an item were cast, changing a vote needs a reason."""

import pytest
from judging import visible_votes

from regrade.core import AlreadyStored, InputError, ReasonNeeded
from regrade.ledger import Mode, NewItem, Question, Role, VoteContent
from regrade.ledger.reveal import was_complete


@pytest.fixture
def item(ledger, queue):
    return add_item(ledger, queue)


def add_item(ledger, queue):
    ledger.add_items(queue, [NewItem("a.jpg", "n01")])
    person = ledger.people()[0] if ledger.people() else ledger.add_person("First", Role.REVIEWER)
    return ledger.next_item(queue, person).id


def vote_all(ledger, item, people, answers):
    for person, answer in zip(people, answers, strict=True):
        ledger.vote(item, person, VoteContent(f"{person.name} first", answer))


def visible_answers(ledger, item, viewer):
    return [vote.answer for vote in visible_votes(ledger, item, viewer)]


@pytest.mark.parametrize("answers", [("correct", "wrong", "wrong"), ("wrong", "wrong", "wrong")])
@pytest.mark.parametrize("reason", ["", "   ", "undone at once"])
def test_take_back_after_reveal_needs_a_reason(ledger, panel, item, answers, reason):
    vote_all(ledger, item, panel, answers)
    decision = ledger.decision(item)
    with pytest.raises(ReasonNeeded, match="give a reason"):
        ledger.take_back(item, panel[2], key="undo", why=reason)
    assert visible_answers(ledger, item, panel[0]) == list(answers)
    assert ledger.decision(item) == decision
    taken = ledger.take_back(item, panel[2], key="undo", why="there is a tail")
    assert (taken.answer, taken.why) == (None, "there is a tail")
    assert ledger.decision(item) is None


def test_vote_after_a_revealed_take_back_needs_a_reason(ledger, panel, item):
    vote_all(ledger, item, panel, ("correct", "wrong", "wrong"))
    ledger.take_back(item, panel[2], key="undo", why="there is a tail")
    with pytest.raises(ReasonNeeded, match="give a reason"):
        ledger.vote(item, panel[2], VoteContent("anew", "correct"))
    assert ledger.item(item).missing == 1
    again = ledger.vote(item, panel[2], VoteContent("anew", "correct", why="there is a tail"))
    assert (again.answer, again.why) == ("correct", "there is a tail")


def test_take_back_before_reveal_needs_no_reason(ledger, panel, item):
    ledger.vote(item, panel[0], VoteContent("first", "correct"))
    ledger.vote(item, panel[1], VoteContent("second", "correct"))
    assert ledger.take_back(item, panel[1], key="undo").why == "undone at once"
    assert not ledger.is_revealed(item, panel[1])
    assert ledger.vote(item, panel[1], VoteContent("anew", "wrong")).why == ""


def test_first_vote_of_another_person_needs_no_reason(ledger, panel, item):
    fourth = ledger.add_person("Dora", Role.REVIEWER)
    vote_all(ledger, item, panel, ("correct", "wrong", "wrong"))
    ledger.take_back(item, panel[2], key="undo", why="no idea")
    assert ledger.vote(item, fourth, VoteContent("dora", "wrong")).why == ""


def test_is_revealed_stays_true_after_a_vote_is_taken_back(ledger, panel, item):
    assert not ledger.is_revealed(item, panel[0])
    vote_all(ledger, item, panel, ("correct", "wrong", "wrong"))
    ledger.take_back(item, panel[2], key="undo", why="no idea")
    assert ledger.item(item).missing == 1
    assert ledger.is_revealed(item, panel[0])
    with pytest.raises(ReasonNeeded):
        ledger.take_back(item, panel[0], key="another undo")


def test_take_back_of_the_only_vote_needs_no_reason(ledger, panel):
    """An item that needs one vote has no other votes to see."""
    queue = ledger.open_queue("alone", Question.JUDGE, test_set="val")
    item = add_item(ledger, queue)
    ledger.vote(item, panel[0], VoteContent("slip", "correct"))
    ledger.take_back(item, panel[0], key="undo")
    ledger.vote(item, panel[0], VoteContent("meant", "wrong"))
    assert ledger.decision(item).answer == "wrong"
    ledger.reopen(item, panel[1], why="I doubt it")
    ledger.vote(item, panel[1], VoteContent("on top", "correct"))
    with pytest.raises(ReasonNeeded):
        ledger.take_back(item, panel[0], key="late undo")


@pytest.mark.parametrize(
    ("mode", "role", "revealed"),
    [
        (Mode.EXAMINATION, Role.LABELER, False),
        (Mode.EXAMINATION, Role.REVIEWER, True),
        (Mode.TRAINING, Role.REVIEWER, False),
    ],
)
def test_is_revealed_depends_on_mode_and_role(ledger, panel, mode, role, revealed):
    queue = ledger.open_queue("labels", Question.LABEL, test_set="val", overlap=2, mode=mode)
    person = ledger.add_person("Leo", role)
    item = add_item(ledger, queue)
    ledger.vote(item, panel[0], VoteContent("ada", "cat"))
    ledger.vote(item, person, VoteContent("leo", "dog"))
    assert ledger.is_revealed(item, person) is revealed


def test_take_back_retracts_only_the_named_vote(ledger, panel, item):
    ledger.vote(item, panel[0], VoteContent("first", "correct"))
    ledger.vote(item, panel[0], VoteContent("changed", "wrong", why="looked again"))
    with pytest.raises(AlreadyStored, match="changed elsewhere"):
        ledger.take_back(item, panel[0], key="undo", undone="first")
    assert visible_answers(ledger, item, panel[0]) == ["wrong"]
    taken = ledger.take_back(item, panel[0], key="undo", undone="changed")
    assert visible_answers(ledger, item, panel[0]) == []
    for key in ("undo", "the same undo in another tab"):
        assert ledger.take_back(item, panel[0], key=key, undone="changed") == taken
    with pytest.raises(InputError, match="no vote on this item"):
        ledger.take_back(item, panel[1], key="another", undone="never cast")


def test_independent_votes_leave_out_votes_after_the_reveal(ledger, queue, panel, item):
    vote_all(ledger, item, panel, ("correct", "wrong", "wrong"))
    ledger.take_back(item, panel[0], key="undo", why="saw the others")
    ledger.vote(item, panel[0], VoteContent("anew", "wrong", why="saw the others"))
    assert ledger.decision(item).answer == "wrong"
    assert [vote.answer for vote in ledger.independent_votes(queue)] == ["correct", "wrong", "wrong"]


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
