"""Queues: their assignment to people, and changes of the votes that items need."""

import itertools

import pytest
from judging import disputed_items

from regrade.core import InputError
from regrade.ledger import MOST_VOTES, QUESTIONS, Ledger, NewItem, Question, Role, VoteContent, may_answer
from regrade.ledger.pending import PendingItems, PendingUntil


@pytest.fixture
def team(ledger):
    return {role: ledger.people.add(role.value.title(), role) for role in Role}


@pytest.fixture
def queues(ledger):
    return {
        question: ledger.queues.create(question.name, question, test_set="val", overlap=2)
        for question in QUESTIONS.values()
    }


def names(records):
    return [record.name for record in records]


@pytest.mark.usefixtures("queues")
def test_open_to_includes_unassigned_queues_that_the_role_allows(ledger, team):
    assert names(ledger.queues.open_to(team[Role.WORKER])) == ["select"]
    assert names(ledger.queues.open_to(team[Role.LABELER])) == ["label", "select", "pair", "review"]
    for role in (Role.OWNER, Role.REVIEWER):
        assert names(ledger.queues.open_to(team[role])) == list(QUESTIONS)


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("question", QUESTIONS.values())
def test_may_answer_limits_labelers_and_workers(role, question):
    allowed = {Role.LABELER: {"label", "select", "pair", "review"}, Role.WORKER: {"select"}}
    assert may_answer(role, question) == (question.name in allowed.get(role, QUESTIONS))


def test_assign_hides_the_queue_from_everyone_else(ledger, team, queues):
    ledger.queues.assign(queues[Question.JUDGE], [team[Role.REVIEWER]])
    assert names(ledger.queues.assigned(queues[Question.JUDGE])) == ["Reviewer"]
    assert names(ledger.queues.open_to(team[Role.REVIEWER])) == list(QUESTIONS)
    assert names(ledger.queues.open_to(team[Role.OWNER])) == [name for name in QUESTIONS if name != "judge"]


def test_assign_replaces_earlier_assignments(ledger, team, queues):
    label = queues[Question.LABEL]
    ledger.queues.assign(label, [team[Role.LABELER], team[Role.LABELER]])
    ledger.queues.assign(label, [team[Role.OWNER], team[Role.REVIEWER]])
    assert names(ledger.queues.assigned(label)) == ["Owner", "Reviewer"]
    assert "label" not in names(ledger.queues.open_to(team[Role.LABELER]))
    ledger.queues.assign(label, [])
    assert ledger.queues.assigned(label) == ()
    assert "label" in names(ledger.queues.open_to(team[Role.LABELER]))


def test_assign_rejects_labelers_for_judge_queues(ledger, team, queues):
    with pytest.raises(InputError, match="Labeler is a labeler"):
        ledger.queues.assign(queues[Question.MISTAKE], [team[Role.REVIEWER], team[Role.LABELER]])
    assert ledger.queues.assigned(queues[Question.MISTAKE]) == ()
    with pytest.raises(InputError, match=r"Worker is a worker, and label is not for workers"):
        ledger.queues.assign(queues[Question.LABEL], [team[Role.WORKER]])


def test_open_to_follows_the_current_role(ledger, team, queues):
    """The role counts, whatever was assigned before."""
    ledger.queues.assign(queues[Question.JUDGE], [team[Role.REVIEWER]])
    with ledger.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE person SET role = 'labeler' WHERE name = 'Reviewer'")
    assert "judge" not in names(ledger.queues.open_to(ledger.people.named("Reviewer")))


_keys = itertools.count()


def vote(ledger, item, person, answer, **options):
    return ledger.votes.cast(item, person, VoteContent(f"key {next(_keys)}", answer, **options)).vote


@pytest.fixture
def items(ledger, queue):
    """Four items that need three votes each."""
    ledger.items.add(queue, [NewItem(f"{number}.jpg", "cat") for number in range(4)])
    return [1, 2, 3, 4]


def test_lower_overlap_completes_and_decides_items(ledger, queue, panel, items):
    ada, bob, cleo = panel
    for person in panel:
        vote(ledger, items[0], person, "correct")
    for person, answer in ((ada, "correct"), (bob, "correct")):
        vote(ledger, items[1], person, answer)
    for person, answer in ((ada, "correct"), (bob, "wrong")):
        vote(ledger, items[2], person, answer)
    change = ledger.queues.change_overlap(queue, 2)
    assert (change.before, change.after, change.open_items, change.completed) == (3, 2, 3, 2)
    assert (change.decided, change.unchanged) == (1, 1)
    assert [ledger.items.with_id(item).missing for item in items] == [0, 0, 0, 2]
    assert ledger.decisions.current(items[1]).answer == "correct"
    assert [item.id for item in disputed_items(ledger, ledger.queues.named("novel"))] == [items[2]]
    assert ledger.queues.named("novel").overlap == 2
    assert ledger.items.next(queue, cleo).id == items[3]


def test_higher_overlap_changes_open_items_only(ledger, queue, panel, items):
    for person in panel[:2]:
        vote(ledger, items[0], person, "correct")
        vote(ledger, items[1], person, "correct" if person is panel[0] else "wrong")
    ledger.queues.change_overlap(queue, 2)
    change = ledger.queues.change_overlap(ledger.queues.named("novel"), 3)
    assert (change.open_items, change.completed, change.unchanged) == (2, 0, 2)
    assert [ledger.items.with_id(item).missing for item in items] == [0, 0, 3, 3]
    assert {ledger.items.next(queue, panel[2]).id for _ in range(3)} <= {items[2], items[3]}


def test_overlap_applies_to_items_added_later(ledger, queue):
    ledger.queues.change_overlap(queue, 1)
    ledger.items.add(queue, [NewItem("new.jpg", "cat")])
    assert ledger.items.with_id(1).missing == 1


def test_lower_overlap_keeps_votes_independent(ledger, queue, panel, items):
    for person in panel[:2]:
        vote(ledger, items[0], person, "correct")
    ledger.queues.change_overlap(queue, 1)
    assert len(ledger.votes.independent(ledger.queues.named("novel"))) == 2
    assert ledger.items.with_id(items[0]).needed == 2


def test_vote_after_the_reveal_is_not_independent(ledger, queue, panel, items):
    ada, bob, cleo = panel
    for person, answer in ((ada, "correct"), (bob, "wrong")):
        vote(ledger, items[0], person, answer)
    ledger.queues.change_overlap(queue, 2)
    ledger.queues.change_overlap(ledger.queues.named("novel"), 3)
    vote(ledger, items[0], cleo, "wrong")  # who could see the other votes
    assert [vote.person for vote in ledger.votes.independent(queue)] == ["Ada", "Bob"]
    assert ledger.votes.is_revealed(items[0], cleo)


def test_dry_run_changes_nothing(ledger, queue, panel, items):
    vote(ledger, items[0], panel[0], "correct")
    change = ledger.queues.change_overlap(queue, 1, dry_run=True)
    assert (change.completed, change.decided) == (1, 1)
    assert ledger.queues.named("novel") == queue
    assert ledger.items.with_id(items[0]).missing == 2 and ledger.decisions.current(items[0]) is None
    assert ledger.problems() == ()


def test_lower_overlap_never_decides_labels(ledger, panel):
    queue = ledger.queues.create("exam", Question.LABEL, test_set="val", overlap=2)
    ledger.items.add(queue, [NewItem("a.jpg")])
    vote(ledger, 1, panel[0], "cat")
    change = ledger.queues.change_overlap(queue, 1)
    assert (change.completed, change.decided) == (1, 0)
    assert ledger.decisions.current(1) is None


def test_overlap_change_updates_pending_items(ledger, queue, panel, items):
    vote(ledger, items[0], panel[0], "correct")
    pending = PendingItems(ledger.engine)
    bob = panel[1]
    assert pending.of(bob, {queue.id: PendingUntil.SETTLED})[queue.id].tolist() == [True] * 4
    ledger.queues.change_overlap(queue, 1)
    assert pending.of(bob, {queue.id: PendingUntil.SETTLED})[queue.id].tolist() == [False, True, True, True]


def test_import_includes_needed_votes(ledger, queue, panel, items, tmp_path):
    vote(ledger, items[0], panel[0], "correct")
    ledger.queues.change_overlap(queue, 1)
    copy = Ledger.open(tmp_path / "copy.sqlite")
    copy.import_rows(ledger.rows())
    assert [copy.items.with_id(item).missing for item in items] == [0, 1, 1, 1]
    older = [{key: value for key, value in row.items() if key != "needed"} for row in ledger.rows()]
    again = Ledger.open(tmp_path / "older.sqlite")
    again.import_rows(older)
    assert [again.items.with_id(item).missing for item in items] == [0, 1, 1, 1]
    for opened in (copy, again):
        opened.engine.dispose()


@pytest.mark.parametrize("votes", [0, -1, MOST_VOTES + 1])
def test_change_overlap_rejects_numbers_out_of_range(ledger, queue, votes):
    with pytest.raises(InputError, match="between 1 and"):
        ledger.queues.change_overlap(queue, votes)
