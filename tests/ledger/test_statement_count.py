"""The number of SQL statements for a vote and for the next item, in each database."""

from counted_statements import counted

from regrade.ledger import NewItem, VoteContent

MOST = {"sqlite": {"next": 6, "vote": 8}, "postgresql": {"next": 6, "vote": 6}}


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


def test_vote_locks_the_chain_in_the_message_that_commits(ledger, panel, queue):
    """Other voters wait for the database, and never for a process that holds the lock."""
    if ledger.engine.dialect.name != "postgresql":
        return  # a single writer
    ledger.items.add(queue, [NewItem("a.jpg", "cat")])
    for person in panel:  # the last vote decides
        with counted(ledger.engine) as vote:
            ledger.votes.cast(1, person, VoteContent(person.name, "wrong"))
        *before, last = vote.statements
        assert "advisory" in last and last.endswith("COMMIT")
        assert not any("advisory" in statement for statement in before)
    assert ledger.decisions.current(1) is not None
