"""Home: the agreement of people, computed without votes that are not revealed."""

import pytest
from panel_votes import cast_votes
from work_page import item_numbers

from regrade.ledger import NewItem, Question


@pytest.fixture
def items(workspace):
    """Three predictions that are each for three people."""
    queue = workspace.ledger.queues.create("trios", Question.JUDGE, test_set="digits", labels="multi", overlap=3)
    ids = workspace.store.test_set("digits").ids
    workspace.ledger.items.add(queue, [NewItem(ids[number], "3") for number in range(3)])
    return item_numbers(workspace, queue)


def agreement(visitor, name="Rita"):
    """The lines about agreement on the home page."""
    lines = [line.strip() for line in visitor(name).get("/").text.splitlines()]
    return [line for line in lines if line.startswith("<dt>Agreement")]


def test_votes_that_are_not_revealed_do_not_count(workspace, items, visitor):
    for item in items:
        cast_votes(workspace, item, Rob="correct", Rose="wrong")
    assert agreement(visitor) == []
    for item in items[:2]:
        cast_votes(workspace, item, Rita="correct")
    (line,) = agreement(visitor)
    assert "33" in line  # one of three pairs of people agrees, on both images
    cast_votes(workspace, items[2], Rita="correct")
    workspace.ledger.votes.retract(items[2], workspace.ledger.people.named("Rita"), key="undo", why="a slip")
    assert "33" in agreement(visitor)[0]


def test_agreement_follows_votes_that_change(workspace, items, visitor):
    for item in items[:2]:
        cast_votes(workspace, item, Rob="correct", Rose="correct", Rita="correct")
    (before,) = agreement(visitor)
    assert "100" in before
    cast_votes(workspace, items[2], Rob="wrong", Rose="correct")
    assert agreement(visitor) == [before]
    cast_votes(workspace, items[2], Rita="correct")
    assert agreement(visitor) != [before]
