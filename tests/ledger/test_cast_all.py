"""Votes on several items at once: all or none, changes with a reason, and how one person sees the items."""

import pytest

from regrade.core import AlreadyStored, InputError, UnknownName
from regrade.ledger import NewItem, Question, Role, VoteContent


@pytest.fixture
def people(ledger):
    return [ledger.people.add(name, Role.REVIEWER) for name in ("Ann", "Ben")]


def review(ledger, overlap=1):
    """A queue with four images of two classes, and the ids of its items."""
    queue = ledger.queues.create("class review", Question.REVIEW, test_set="pool", overlap=overlap, build="v2")
    ledger.items.add(queue, [NewItem(f"{n}.jpg", ("cat", "dog")[n // 2]) for n in range(4)])
    ann = ledger.people.named("Ann")
    return queue, [row.item.id for row in ledger.discussions.standings(queue, ann)]


def keep(item, **more):
    return VoteContent(f"keep-{item}-{len(more)}", "keep", **more)


def flag(item, reason="drawing", **more):
    return VoteContent(f"flag-{item}-{len(more)}", "problematic", reason=reason, **more)


def votes(ledger):
    return [row for row in ledger.rows() if row["kind"] == "vote"]


def test_votes_on_several_items_decide_each(ledger, people):
    queue, items = review(ledger)
    contents = {items[0]: keep(items[0], seconds=1.5), items[1]: flag(items[1]), items[2]: keep(items[2])}
    assert ledger.votes.cast_all(people[0], contents) == ()
    decided = {row.example: (row.answer, row.reasons) for row in ledger.decisions.of_queue(queue)}
    assert decided == {
        "0.jpg": ("keep", ("",)), "1.jpg": ("problematic", ("drawing",)), "2.jpg": ("keep", ("",))
    }  # fmt: skip
    assert ledger.votes.cast_all(people[0], contents) == ()
    assert len(votes(ledger)) == 3
    assert not list(ledger.problems())


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (VoteContent("no such answer", "correct"), UnknownName),
        (VoteContent("no reason", "problematic"), InputError),
        (VoteContent("keep-1-0", "problematic", reason="drawing"), AlreadyStored),
    ],
)
def test_one_vote_that_is_refused_stores_none(ledger, people, content, error):
    queue, items = review(ledger)
    with pytest.raises(error):
        ledger.votes.cast_all(people[0], {items[0]: VoteContent("keep-1-0", "keep"), items[3]: content})
    assert votes(ledger) == []
    assert ledger.decisions.of_queue(queue) == ()
    with pytest.raises(UnknownName):
        ledger.votes.cast_all(people[0], {items[0]: keep(items[0]), 999: keep(999)})
    assert votes(ledger) == []


def test_a_change_needs_a_reason_and_replaces_the_decision(ledger, people):
    queue, items = review(ledger)
    ledger.votes.cast_all(people[0], {item: keep(item) for item in items})
    with pytest.raises(InputError, match="reason"):
        ledger.votes.cast_all(people[0], {items[0]: flag(items[0])})
    ledger.votes.cast_all(people[0], {items[0]: flag(items[0], why="seen again")})
    assert ledger.decisions.current(items[0]).answer == "problematic"
    assert len(ledger.decisions.of_queue(queue)) == 4
    reached = [row["reached"] for row in ledger.rows() if row["kind"] == "decision" and row["example"] == "0.jpg"]
    assert reached == ["unanimously", "reopened", "unanimously"]
    assert not list(ledger.problems())


def test_items_that_others_decided_are_returned(ledger, people):
    _, items = review(ledger)
    ledger.votes.cast_all(people[0], {items[0]: keep(items[0])})
    own = {item: VoteContent(f"ben-{item}", "problematic", reason="edited") for item in items[:2]}
    assert ledger.votes.cast_all(people[1], own) == (items[0],)
    assert ledger.decisions.current(items[0]).answer == "keep"
    assert ledger.decisions.current(items[1]).answer == "problematic"


def test_a_locked_decision_is_not_changed(ledger, people):
    _, items = review(ledger, overlap=2)
    ledger.votes.cast_all(people[0], {items[0]: keep(items[0])})
    ledger.votes.cast_all(people[1], {items[0]: flag(items[0])})
    assert ledger.decisions.current(items[0]) is None
    ledger.decisions.lock(items[0], people[1])
    assert ledger.decisions.current(items[0]).answer == "problematic"
    with pytest.raises(AlreadyStored, match="decided after discussion"):
        ledger.votes.cast_all(people[0], {items[0]: flag(items[0], why="agreed")})


def test_standings_show_own_votes_and_complete_items_only(ledger, people):
    queue, items = review(ledger, overlap=2)
    ann, ben = people
    ledger.votes.cast_all(ann, {items[0]: keep(items[0]), items[1]: flag(items[1], "edited")})
    ledger.votes.cast_all(ben, {items[0]: VoteContent("ben-votes", "keep")})
    ledger.reports.add(items[2], ben, "gray")
    of_ben = {row.item.id: row for row in ledger.discussions.standings(queue, ben)}
    assert [of_ben[item].own for item in items] == ["keep", "", "", ""]
    assert [of_ben[item].decision for item in items] == ["keep", "", "", ""]
    assert [of_ben[item].open for item in items] == [False, True, False, True]
    assert [of_ben[item].reported for item in items] == [False, False, True, False]
    of_ann = ledger.discussions.standings(queue, ann, class_id="cat")
    assert [(row.item.example, row.own, row.reason) for row in of_ann] == [
        ("0.jpg", "keep", ""), ("1.jpg", "problematic", "edited")
    ]  # fmt: skip
    assert not any(row.locked for row in of_ann)
