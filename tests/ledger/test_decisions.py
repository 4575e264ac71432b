"""Decisions: at once when all agree, otherwise after discussion, by what most say."""

import pytest

from regrade.core import AlreadyStored, InputError, UndefinedError
from regrade.ledger import NewItem, Question, VoteContent


@pytest.fixture
def voted(ledger, queue, panel):
    """Let the panel vote on a new item, and give it."""

    def vote(*answers, name="a.jpg"):
        ledger.add_items(queue, [NewItem(name, "n01")])
        item = ledger.next_item(queue, panel[0])
        for person, answer in zip(panel, answers, strict=False):
            ledger.vote(item.id, person, VoteContent(f"{name} {person.name}", answer))
        return item

    return vote


def test_a_unanimous_panel_has_decided(ledger, voted):
    decision = ledger.decision(voted("wrong", "wrong", "wrong").id)
    assert (decision.answer, decision.reached, decision.person_id) == ("wrong", "unanimously", None)


def test_otherwise_the_item_is_open_for_discussion(ledger, queue, panel, voted):
    item = voted("wrong", "wrong", "correct")
    assert ledger.decision(item.id) is None
    assert ledger.disputed(queue) == (ledger.item(item.id),)
    ledger.comment(item.id, panel[2], "see the tail: https://example.org/tails")
    assert [comment.person_id for comment in ledger.comments(item.id)] == [panel[2].id]
    ledger.vote(item.id, panel[2], VoteContent("again", "wrong", why="convinced"))
    assert ledger.decision(item.id).reached == "unanimously"
    assert ledger.disputed(queue) == ()


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (("wrong", "correct", "correct"), ("correct", "by majority")),
        (("wrong", "correct", "unclear"), ("unclear", "by tie")),
        (("problematic", "problematic", "wrong"), ("problematic", "by majority")),
    ],
)
def test_what_most_say_is_locked(ledger, panel, voted, answers, expected):
    item = voted(*answers)
    decision = ledger.lock(item.id, panel[1], why="talked it over")
    assert (decision.answer, decision.reached) == expected
    assert decision.person_id == panel[1].id
    with pytest.raises(AlreadyStored, match="decided already"):
        ledger.lock(item.id, panel[1])


def test_nothing_is_decided_before_all_have_voted(ledger, panel, voted):
    item = voted("wrong", "wrong")
    assert ledger.decision(item.id) is None
    with pytest.raises(InputError, match="votes are missing on this item \\(1\\)"):
        ledger.lock(item.id, panel[0])


def test_a_decision_stands_until_it_is_taken_back_with_a_reason(ledger, panel, voted):
    item = voted("wrong", "wrong", "wrong")
    with pytest.raises(AlreadyStored, match="opened again"):
        ledger.vote(item.id, panel[0], VoteContent("late", "correct", why="hm"))
    with pytest.raises(InputError, match="say why"):
        ledger.reopen(item.id, panel[0], why=" ")
    ledger.reopen(item.id, panel[0], why="a second object was missed")
    assert ledger.decision(item.id) is None
    for number, person in enumerate(panel):
        ledger.vote(item.id, person, VoteContent(f"new {number}", "correct", why="the second object"))
    assert ledger.decision(item.id).answer == "correct"
    decisions = [row for row in ledger.rows() if row["kind"] == "decision"]
    assert [(row["answer"], row["reached"]) for row in decisions] == [
        ("wrong", "unanimously"),
        ("", "reopened"),
        ("correct", "unanimously"),
    ]


def test_a_ballot_that_arrives_again_after_the_decision_is_still_the_same_vote(ledger, panel, voted):
    item = voted("wrong", "wrong", "wrong")
    again = ledger.vote(item.id, panel[2], VoteContent("a.jpg Cleo", "wrong"))
    assert again.answer == "wrong"


def test_kinds_of_mistakes_in_a_tie_stay_open(ledger, panel):
    queue = ledger.open_queue("mistakes", Question.MISTAKE, test_set="val", labels="real@1", overlap=2)
    ledger.add_items(queue, [NewItem("a.jpg", "n01")])
    item = ledger.next_item(queue, panel[0])
    ledger.vote(item.id, panel[0], VoteContent("1", "fine-grained", severity="major"))
    ledger.vote(item.id, panel[1], VoteContent("2", "non-prototypical", severity="minor"))
    with pytest.raises(UndefinedError, match="as many say fine-grained and non-prototypical"):
        ledger.lock(item.id, panel[0])
    ledger.vote(item.id, panel[1], VoteContent("3", "fine-grained", severity="minor", why="convinced"))
    decision = ledger.lock(item.id, panel[0])
    assert (decision.answer, decision.severity, decision.reached) == ("fine-grained", "borderline", "by majority")


def test_labels_are_everyone_s_own(ledger, panel):
    queue = ledger.open_queue("label", Question.LABEL, test_set="val", overlap=1)
    ledger.add_items(queue, [NewItem("a.jpg")])
    item = ledger.next_item(queue, panel[0])
    ledger.vote(item.id, panel[0], VoteContent("1", "n01", seconds=12.0))
    assert ledger.decision(item.id) is None
    progress = ledger.progress(queue)
    assert (progress.answered, progress.disputed) == (1, 0)


def test_progress(ledger, queue, voted):
    voted("wrong", "wrong", "wrong")
    voted("wrong", "correct", "wrong", name="b.jpg")
    voted("wrong", name="c.jpg")
    found = ledger.progress(queue)
    assert (found.items, found.answered, found.decided, found.disputed) == (3, 2, 1, 1)
    assert found.by_person == {"Ada": 3, "Bob": 2, "Cleo": 2}
