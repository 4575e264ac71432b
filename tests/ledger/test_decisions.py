"""Decisions: by unanimous votes, or after discussion by majority."""

import pytest
from judging import comments_on, disputed_items

from regrade.core import AlreadyStored, InputError, UndefinedError
from regrade.ledger import NewItem, Question, VoteContent


@pytest.fixture
def voted(ledger, queue, panel):
    """Adds an item, casts the panel's votes on it and returns it."""

    def vote(*answers, name="a.jpg"):
        ledger.items.add(queue, [NewItem(name, "n01")])
        item = ledger.items.next(queue, panel[0])
        for person, answer in zip(panel, answers, strict=False):
            ledger.votes.cast(item.id, person, VoteContent(f"{name} {person.name}", answer, reason="drawing"))
        return item

    return vote


def test_unanimous_votes_decide(ledger, voted):
    decision = ledger.decisions.current(voted("wrong", "wrong", "wrong").id)
    assert (decision.answer, decision.reached, decision.person_id) == ("wrong", "unanimously", None)


def test_different_votes_are_disputed_until_they_agree(ledger, queue, panel, voted):
    item = voted("wrong", "wrong", "correct")
    assert ledger.decisions.current(item.id) is None
    assert disputed_items(ledger, queue) == [ledger.items.with_id(item.id)]
    ledger.discussions.comment(item.id, panel[2], "see the tail: https://example.org/tails")
    assert [comment.person_id for comment in comments_on(ledger, item.id)] == [panel[2].id]
    ledger.votes.cast(item.id, panel[2], VoteContent("again", "wrong", why="convinced"))
    assert ledger.decisions.current(item.id).reached == "unanimously"
    assert disputed_items(ledger, queue) == []


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (("wrong", "correct", "correct"), ("correct", "by majority")),
        (("wrong", "correct", "unclear"), ("unclear", "by tie")),
        (("problematic", "problematic", "wrong"), ("problematic", "by majority")),
    ],
)
def test_lock_decides_by_majority(ledger, panel, voted, answers, expected):
    item = voted(*answers)
    decision = ledger.decisions.lock(item.id, panel[1], why="talked it over")
    assert (decision.answer, decision.reached) == expected
    assert decision.person_id == panel[1].id
    with pytest.raises(AlreadyStored, match="decided already"):
        ledger.decisions.lock(item.id, panel[1])


def test_lock_rejects_an_item_with_missing_votes(ledger, panel, voted):
    item = voted("wrong", "wrong")
    assert ledger.decisions.current(item.id) is None
    with pytest.raises(InputError, match="votes are missing on this item \\(1\\)"):
        ledger.decisions.lock(item.id, panel[0])


def test_reopen_needs_a_reason_and_allows_new_votes(ledger, panel, voted):
    item = voted("wrong", "wrong", "wrong")
    with pytest.raises(AlreadyStored, match="reopen it"):
        ledger.votes.cast(item.id, panel[0], VoteContent("late", "correct", why="hm"))
    with pytest.raises(InputError, match="give a reason"):
        ledger.decisions.reopen(item.id, panel[0], why=" ")
    ledger.decisions.reopen(item.id, panel[0], why="a second object was missed")
    assert ledger.decisions.current(item.id) is None
    for number, person in enumerate(panel):
        ledger.votes.cast(item.id, person, VoteContent(f"new {number}", "correct", why="the second object"))
    assert ledger.decisions.current(item.id).answer == "correct"
    decisions = [row for row in ledger.rows() if row["kind"] == "decision"]
    assert [(row["answer"], row["reached"]) for row in decisions] == [
        ("wrong", "unanimously"),
        ("", "reopened"),
        ("correct", "unanimously"),
    ]


def test_vote_is_idempotent_after_the_decision(ledger, panel, voted):
    item = voted("wrong", "wrong", "wrong")
    again = ledger.votes.cast(item.id, panel[2], VoteContent("a.jpg Cleo", "wrong")).vote
    assert again.answer == "wrong"


def test_lock_rejects_a_tie_between_mistake_categories(ledger, panel):
    queue = ledger.queues.create("mistakes", Question.MISTAKE, test_set="val", labels="real@1", overlap=2)
    ledger.items.add(queue, [NewItem("a.jpg", "n01")])
    item = ledger.items.next(queue, panel[0])
    ledger.votes.cast(item.id, panel[0], VoteContent("1", "fine-grained", severity="major"))
    ledger.votes.cast(item.id, panel[1], VoteContent("2", "non-prototypical", severity="minor"))
    with pytest.raises(UndefinedError, match="fine-grained and non-prototypical have equally many votes"):
        ledger.decisions.lock(item.id, panel[0])
    ledger.votes.cast(item.id, panel[1], VoteContent("3", "fine-grained", severity="minor", why="convinced"))
    decision = ledger.decisions.lock(item.id, panel[0])
    assert (decision.answer, decision.severity, decision.reached) == ("fine-grained", "borderline", "by majority")


def test_labels_are_never_decided_or_disputed(ledger, panel):
    queue = ledger.queues.create("label", Question.LABEL, test_set="val", overlap=1)
    ledger.items.add(queue, [NewItem("a.jpg")])
    item = ledger.items.next(queue, panel[0])
    ledger.votes.cast(item.id, panel[0], VoteContent("1", "n01", seconds=12.0))
    assert ledger.decisions.current(item.id) is None
    progress = ledger.queues.progress(queue)
    assert (progress.answered, progress.disputed) == (1, 0)


def test_progress_counts_items_and_votes(ledger, queue, voted):
    voted("wrong", "wrong", "wrong")
    voted("wrong", "correct", "wrong", name="b.jpg")
    voted("wrong", name="c.jpg")
    progress = ledger.queues.progress(queue)
    assert (progress.items, progress.answered, progress.decided, progress.disputed) == (3, 2, 1, 1)
    assert progress.by_person == {"Ada": 3, "Bob": 2, "Cleo": 2}
