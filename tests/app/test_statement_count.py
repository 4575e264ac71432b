"""The number of SQL statements of a vote and of the next item: all reviewers share one database."""

import pytest
from counted_statements import counted

from regrade.ledger import Mode, NewItem, Question

MOST_STATEMENTS = {"next": 15, "vote": 11}
MOST_CONNECTIONS = {"next": 7, "vote": 4}


@pytest.fixture
def many_queues(workspace):
    """Further queues, which must not add statements."""
    for number in range(5):
        queue = workspace.ledger.queues.create(f"queue {number}", Question.JUDGE, test_set="digits", overlap=2)
        workspace.ledger.items.add(queue, [NewItem(workspace.store.test_set("digits").ids[0], "3")])
        workspace.ledger.queues.create(f"training {number}", Question.LABEL, test_set="digits", mode=Mode.TRAINING)


@pytest.mark.usefixtures("many_queues")
def test_vote_and_next_item_take_few_statements(app, judge_queue, visitor):
    rita, engine, address = visitor("Rita"), app.state.site.ledger.engine, f"/api/queues/{judge_queue.id}"
    for number in range(3):
        with counted(engine) as next_item:
            item = rita.get(f"{address}/next").json()["item"]
        with counted(engine) as vote:
            answer = rita.write(f"{address}/votes", item=item["id"], key=f"0123456789abcdef{number}", answer="wrong")
        assert answer.status_code == 200
        assert item["references"]  # these query the hidden images again
    assert len(next_item.statements) <= MOST_STATEMENTS["next"], next_item.statements
    assert len(vote.statements) <= MOST_STATEMENTS["vote"], vote.statements
    assert next_item.connections <= MOST_CONNECTIONS["next"]
    assert vote.connections <= MOST_CONNECTIONS["vote"]
