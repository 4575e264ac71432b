"""Discussions: filters, order and visibility of items, votes and comments."""

import pytest
from judging import comments_on

from regrade.core import AlreadyStored, UndefinedError, UnknownName
from regrade.core.panel import NO_MISTAKE
from regrade.ledger import NewItem, Question, Stage, TopicFilter, VoteContent, panel_decision


@pytest.fixture
def discussions(ledger):
    return ledger.discussions


@pytest.fixture
def items(ledger, queue, panel):
    """Five items, in the order of the queue: disputed, unanimous, incomplete, disputed with a comment, locked."""
    answers = {
        "a": "wrong wrong correct",
        "b": "wrong wrong wrong",
        "c": "wrong",
        "d": "unclear wrong correct",
        "e": "wrong wrong correct",
    }
    ledger.items.add(queue, [NewItem(f"{name}.jpg", "n01" if name < "d" else "n02") for name in answers])
    item_ids = {}
    while (item := ledger.items.next(queue, panel[0], after=None)) is not None:
        name = item.example[0]
        item_ids[name] = item.id
        for person, answer in zip(panel, answers[name].split(), strict=False):
            ledger.votes.cast(item.id, person, VoteContent(f"{name} {person.name}", answer))
    ledger.discussions.comment(item_ids["d"], panel[1], "look at the tail")
    ledger.decisions.lock(item_ids["e"], panel[2], why="enough")
    return item_ids


def names(items):
    return "".join(item.example[0] for item in items)


def topics_of(discussions, queue, topic_filter):
    return discussions.topics(discussions.items(queue, topic_filter))


@pytest.mark.usefixtures("items")
def test_items_are_filtered_by_stage_class_and_answer(discussions, queue):
    assert names(discussions.items(queue, TopicFilter())) == "ad"
    assert names(discussions.items(queue, TopicFilter(Stage.DECIDED))) == "be"
    assert names(discussions.items(queue, TopicFilter(class_id="n02"))) == "d"
    assert names(discussions.items(queue, TopicFilter(answer="unclear"))) == "d"
    assert names(discussions.items(queue, TopicFilter(Stage.DECIDED, answer="correct"))) == ""
    assert [item.class_id for item in discussions.items(queue, TopicFilter())] == ["n01", "n02"]


@pytest.mark.usefixtures("items")
def test_topics_include_votes_comments_and_decisions(discussions, queue, panel):
    first, second = topics_of(discussions, queue, TopicFilter())
    assert [vote.answer for vote in first.votes] == ["wrong", "wrong", "correct"]
    assert (first.comments, second.comments, first.decision) == (0, 1, None)
    unanimous, locked = topics_of(discussions, queue, TopicFilter(Stage.DECIDED))
    assert (unanimous.decision.person_id, locked.decision.person_id) == (None, panel[2].id)


def test_topics_show_current_votes_only(ledger, discussions, queue, panel, items):
    ledger.votes.cast(items["a"], panel[2], VoteContent("again", "unclear", why="hm"))
    ledger.decisions.reopen(items["e"], panel[0], why="more to say")
    a, _, e = topics_of(discussions, queue, TopicFilter())
    assert sorted(vote.answer for vote in a.votes) == ["unclear", "wrong", "wrong"]
    assert e.decision is None
    seen = discussions.seen_by(items["a"], panel[0])
    assert (len(seen.votes), len(seen.standing)) == (4, 3)


def test_before_and_after_return_neighbors(discussions, items):
    assert discussions.after(items["a"], TopicFilter()) == items["d"]
    assert discussions.after(items["d"], TopicFilter()) is None
    assert discussions.before(items["d"], TopicFilter()) == items["a"]
    assert discussions.before(items["e"], TopicFilter(Stage.DECIDED)) == items["b"]
    with pytest.raises(UnknownName):
        discussions.after(10**6, TopicFilter())


def test_seen_by_hides_others_until_all_have_voted(ledger, discussions, panel, items):
    ledger.discussions.comment(items["c"], panel[0], "said too early")
    for person, own in ((panel[0], 1), (panel[1], 0)):
        seen = discussions.seen_by(items["c"], person)
        assert (seen.open, len(seen.votes), seen.comments, seen.decisions) == (False, own, (), ())


def test_seen_by_hides_others_after_a_vote_is_taken_back(ledger, discussions, queue, panel, items):
    ledger.votes.retract(items["b"], panel[0], key="back", why="a slip")
    seen = discussions.seen_by(items["b"], panel[1])
    assert [vote.person_id for vote in seen.votes] == [panel[1].id]
    assert (seen.decisions, seen.decision) == ((), None)
    assert names(discussions.items(queue, TopicFilter(Stage.DECIDED))) == "e"


def test_lock_rejects_votes_that_were_not_seen(ledger, discussions, panel, items):
    newest = discussions.seen_by(items["a"], panel[0]).standing[-1].id
    ledger.votes.cast(items["a"], panel[0], VoteContent("again", "correct", why="looked"))
    with pytest.raises(AlreadyStored, match="a vote on this item has changed"):
        ledger.decisions.lock(items["a"], panel[1], seen=newest)
    newest = max(vote.id for vote in discussions.seen_by(items["a"], panel[0]).standing)
    assert ledger.decisions.lock(items["a"], panel[1], seen=newest).answer == "correct"


def test_comment_ignores_a_repeated_comment(ledger, panel, items):
    tail = "look at the tail"
    for person, text in ((1, tail), (1, f" {tail} "), (0, tail), (1, tail)):
        ledger.discussions.comment(items["d"], panel[person], text)
    assert [comment.person_id for comment in comments_on(ledger, items["d"])] == [panel[n].id for n in (1, 0, 1)]


@pytest.mark.parametrize(
    ("votes", "expected"),
    [
        ([(NO_MISTAKE, None)] * 3, (NO_MISTAKE, None, "unanimously")),
        ([(NO_MISTAKE, None), (NO_MISTAKE, None), ("fine-grained", "major")], (NO_MISTAKE, None, "by majority")),
        (
            [("fine-grained", "minor"), ("fine-grained", "minor"), ("fine-grained", "major")]
            + [(NO_MISTAKE, None)] * 2,
            ("fine-grained", "minor", "by majority"),
        ),
        (
            [("fine-grained", "major"), ("fine-grained", "minor"), (NO_MISTAKE, None)],
            ("fine-grained", "borderline", "by majority"),
        ),
        ([("fine-grained", "major")] * 2, ("fine-grained", "major", "unanimously")),
    ],
)
def test_panel_decision_ignores_no_mistake_votes_for_the_severity(votes, expected):
    decision = panel_decision(Question.MISTAKE, votes)
    assert (decision.answer, decision.severity, decision.reached.value) == expected


def test_panel_decision_rejects_a_tie_with_no_mistake():
    with pytest.raises(UndefinedError, match="fine-grained and no mistake have equally many votes"):
        panel_decision(Question.MISTAKE, [(NO_MISTAKE, None), ("fine-grained", "major")])
