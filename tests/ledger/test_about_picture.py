"""What someone may see of what was asked about a picture."""

import pytest
from judging import item_of, people, queue_of, vote

from regrade.ledger import Question
from regrade.ledger.about_picture import about_picture

PAIR = ("image 1", "cat")


@pytest.fixture
def asked(ledger):
    """Two items about one picture, for two people each; a comment of the first of them; another set's queue."""
    ann, ben, eve = people(ledger, "Ann", "Ben", "Eve")
    queue = queue_of(ledger, "first", [PAIR, ("image 1", "dog"), ("image 2", "cat")], overlap=2, test_set="set")
    queue_of(ledger, "elsewhere", [PAIR], test_set="another set")
    ledger.comment(item_of(ledger, queue, *PAIR), ann, "whiskers")
    vote(ledger, queue, ann, PAIR, "correct", reason="ears")
    return queue, ann, ben, eve


def seen(ledger, viewer):
    return about_picture(ledger.engine, "set", "image 1", viewer)


def test_only_ones_own_until_all_have_voted(ledger, asked):
    _, ann, _, eve = asked
    for viewer, votes, comments in ((ann, ["Ann"], ["whiskers"]), (eve, [], [])):
        cat, dog = seen(ledger, viewer)
        assert (cat.class_id, cat.missing, dog.class_id, dog.missing) == ("cat", 1, "dog", 2)
        assert [one.person for one in cat.votes] == votes
        assert [one.text for one in cat.comments] == comments
        assert dog.votes == ()


def test_everything_once_all_have(ledger, asked):
    queue, ann, ben, eve = asked
    vote(ledger, queue, ben, PAIR, "wrong")
    cat, _ = seen(ledger, eve)
    assert [(one.person, one.answer, one.reason) for one in cat.votes] == [
        ("Ann", "correct", "ears"), ("Ben", "wrong", ""),
    ]  # fmt: skip
    assert [one.text for one in cat.comments] == ["whiskers"]
    assert cat.decision == ""
    ledger.lock(item_of(ledger, queue, *PAIR), ann)
    assert seen(ledger, eve)[0].decision == "unclear"


def test_a_vote_that_is_taken_back_hides_the_others_again(ledger, asked):
    queue, _, ben, eve = asked
    vote(ledger, queue, ben, PAIR, "correct")
    assert seen(ledger, eve)[0].decision == "correct"
    ledger.take_back(item_of(ledger, queue, *PAIR), ben, key="another key", why="by mistake")
    cat, _ = seen(ledger, eve)
    assert (cat.votes, cat.comments, cat.decision) == ((), (), "")


def test_a_picture_that_no_one_asks_about(ledger):
    (ann,) = people(ledger, "Ann")
    queue_of(ledger, "first", [PAIR], question=Question.JUDGE, test_set="set")
    assert about_picture(ledger.engine, "set", "image 9", ann) == ()
