"""The number of SQL statements for a vote and for the next item, in each database."""

from counted_statements import counted

from regrade.ledger import NewItem, VoteContent

MOST = {"sqlite": {"next": 6, "vote": 8}, "postgresql": {"next": 6, "vote": 7}}


def test_vote_and_next_item_take_few_statements(ledger, panel, queue):
    ledger.items.add(queue, [NewItem(f"image {number}", "cat") for number in range(100)])
    most = MOST[ledger.engine.dialect.name]
    for number, person in enumerate(panel * 2):
        with counted(ledger.engine) as next_item:
            item = ledger.items.next(queue, person)
        with counted(ledger.engine) as vote:
            ledger.votes.cast(item.id, person, VoteContent(f"key {number}", "wrong"))
        assert len(next_item.statements) <= most["next"], next_item.statements
        assert len(vote.statements) <= most["vote"], vote.statements
        assert (next_item.connections, vote.connections) == (1, 1)
    assert ledger.problems() == ()
