"""Discussions of many items at once: who sees what, in what order, and what is asked for."""

import pytest

from regrade.core import AlreadyStored, UndefinedError, UnknownName
from regrade.core.panel import NO_MISTAKE
from regrade.ledger import Discussions, NewItem, Question, Stage, TopicFilter, VoteContent, verdict_of


@pytest.fixture
def discussions(ledger):
    return Discussions(ledger.engine)


@pytest.fixture
def items(ledger, queue, panel):
    """Five items, in the order of the queue: disputed, unanimous, without a vote, disputed and talked over, locked."""
    said = {
        "a": "wrong wrong correct",
        "b": "wrong wrong wrong",
        "c": "wrong",
        "d": "unclear wrong correct",
        "e": "wrong wrong correct",
    }
    ledger.add_items(queue, [NewItem(f"{name}.jpg", "n01" if name < "d" else "n02") for name in said])
    asked = {}
    while (found := ledger.next_item(queue, panel[0], after=None)) is not None:
        name = found.example[0]
        asked[name] = found.id
        for person, answer in zip(panel, said[name].split(), strict=False):
            ledger.vote(found.id, person, VoteContent(f"{name} {person.name}", answer))
    ledger.comment(asked["d"], panel[1], "look at the tail")
    ledger.lock(asked["e"], panel[2], why="enough")
    return asked


def names(topics):
    return "".join(one.item.example[0] for one in topics)


@pytest.mark.usefixtures("items")
def test_lists(discussions, queue):
    assert names(discussions.topics(queue, TopicFilter())) == "ad"
    assert names(discussions.topics(queue, TopicFilter(Stage.DECIDED))) == "be"
    assert names(discussions.topics(queue, TopicFilter(), start=1, count=1)) == "d"
    assert names(discussions.topics(queue, TopicFilter(class_id="n02"))) == "d"
    assert names(discussions.topics(queue, TopicFilter(answer="unclear"))) == "d"
    assert names(discussions.topics(queue, TopicFilter(Stage.DECIDED, answer="correct"))) == ""
    assert discussions.count(queue, TopicFilter()) == 2
    assert discussions.classes(queue, Stage.DISPUTED) == {"n01": 1, "n02": 1}


@pytest.mark.usefixtures("items")
def test_topics_have_votes_comments_and_the_decision(discussions, queue, panel):
    first, second = discussions.topics(queue, TopicFilter())
    assert [one.answer for one in first.votes] == ["wrong", "wrong", "correct"]
    assert (first.comments, second.comments, first.decision) == (0, 1, None)
    unanimous, locked = discussions.topics(queue, TopicFilter(Stage.DECIDED))
    assert (unanimous.decision.person_id, locked.decision.person_id) == (None, panel[2].id)


def test_a_change_counts_once(ledger, discussions, queue, panel, items):
    ledger.vote(items["a"], panel[2], VoteContent("again", "unclear", why="hm"))
    ledger.reopen(items["e"], panel[0], why="more to say")
    a, _, e = discussions.topics(queue, TopicFilter())
    assert sorted(one.answer for one in a.votes) == ["unclear", "wrong", "wrong"]
    assert e.decision is None
    seen = discussions.seen_by(items["a"], panel[0])
    assert (len(seen.votes), len(seen.standing)) == (4, 3)


def test_before_and_after(discussions, items):
    assert discussions.after(items["a"], TopicFilter()) == items["d"]
    assert discussions.after(items["d"], TopicFilter()) is None
    assert discussions.before(items["d"], TopicFilter()) == items["a"]
    assert discussions.before(items["e"], TopicFilter(Stage.DECIDED)) == items["b"]
    with pytest.raises(UnknownName):
        discussions.after(10**6, TopicFilter())


def test_blind_until_all_have_voted(ledger, discussions, panel, items):
    ledger.comment(items["c"], panel[0], "said too early")
    for person, own in ((panel[0], 1), (panel[1], 0)):
        seen = discussions.seen_by(items["c"], person)
        assert (seen.open, len(seen.votes), seen.comments, seen.decisions) == (False, own, (), ())


def test_blind_again_when_a_vote_is_taken_back(ledger, discussions, queue, panel, items):
    ledger.take_back(items["b"], panel[0], key="back", why="a slip")
    seen = discussions.seen_by(items["b"], panel[1])
    assert [one.person_id for one in seen.votes] == [panel[1].id]
    assert (seen.decisions, seen.decision) == ((), None)
    assert names(discussions.topics(queue, TopicFilter(Stage.DECIDED))) == "e"


def test_a_verdict_is_locked_only_as_it_was_seen(ledger, discussions, panel, items):
    newest = discussions.seen_by(items["a"], panel[0]).standing[-1].id
    ledger.vote(items["a"], panel[0], VoteContent("again", "correct", why="looked"))
    with pytest.raises(AlreadyStored, match="changed their vote since"):
        ledger.lock(items["a"], panel[1], seen=newest)
    newest = max(one.id for one in discussions.seen_by(items["a"], panel[0]).standing)
    assert ledger.lock(items["a"], panel[1], seen=newest).answer == "correct"


def test_words_said_twice_at_once_are_said_once(ledger, panel, items):
    tail = "look at the tail"
    for person, text in ((1, tail), (1, f" {tail} "), (0, tail), (1, tail)):
        ledger.comment(items["d"], panel[person], text)
    assert [one.person_id for one in ledger.comments(items["d"])] == [panel[n].id for n in (1, 0, 1)]


@pytest.mark.parametrize(
    ("said", "expected"),
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
def test_who_sees_no_mistake_has_no_say_in_how_grave_it_is(said, expected):
    verdict, severity = verdict_of(Question.MISTAKE, said)
    assert (verdict.answer, severity, verdict.reached.value) == expected


def test_a_tie_with_no_mistake_stays_open():
    with pytest.raises(UndefinedError, match="as many say fine-grained and no mistake"):
        verdict_of(Question.MISTAKE, [(NO_MISTAKE, None), ("fine-grained", "major")])
