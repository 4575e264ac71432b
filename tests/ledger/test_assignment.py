"""Assignment of queues to people."""

import pytest

from regrade.core import InputError
from regrade.ledger import QUESTIONS, Question, Role, may_answer


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
def test_queues_of_includes_unassigned_queues_that_the_role_allows(ledger, team):
    assert names(ledger.queues.open_to(team[Role.LABELER])) == ["label"]
    for role in (Role.OWNER, Role.REVIEWER):
        assert names(ledger.queues.open_to(team[role])) == ["judge", "label", "mistake"]


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("question", QUESTIONS.values())
def test_may_answer_limits_labelers_to_labels(role, question):
    assert may_answer(role, question) == (question is Question.LABEL or role is not Role.LABELER)


def test_assign_hides_the_queue_from_everyone_else(ledger, team, queues):
    ledger.queues.assign(queues[Question.JUDGE], [team[Role.REVIEWER]])
    assert names(ledger.queues.assigned(queues[Question.JUDGE])) == ["Reviewer"]
    assert names(ledger.queues.open_to(team[Role.REVIEWER])) == ["judge", "label", "mistake"]
    assert names(ledger.queues.open_to(team[Role.OWNER])) == ["label", "mistake"]


def test_assign_replaces_earlier_assignments(ledger, team, queues):
    label = queues[Question.LABEL]
    ledger.queues.assign(label, [team[Role.LABELER], team[Role.LABELER]])
    ledger.queues.assign(label, [team[Role.OWNER], team[Role.REVIEWER]])
    assert names(ledger.queues.assigned(label)) == ["Owner", "Reviewer"]
    assert names(ledger.queues.open_to(team[Role.LABELER])) == []
    ledger.queues.assign(label, [])
    assert ledger.queues.assigned(label) == ()
    assert names(ledger.queues.open_to(team[Role.LABELER])) == ["label"]


def test_assign_rejects_labelers_for_judge_queues(ledger, team, queues):
    with pytest.raises(InputError, match="Labeler is a labeler"):
        ledger.queues.assign(queues[Question.MISTAKE], [team[Role.REVIEWER], team[Role.LABELER]])
    assert ledger.queues.assigned(queues[Question.MISTAKE]) == ()


def test_queues_of_follows_the_current_role(ledger, team, queues):
    """The role counts, whatever was assigned before."""
    ledger.queues.assign(queues[Question.JUDGE], [team[Role.REVIEWER]])
    with ledger.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE person SET role = 'labeler' WHERE name = 'Reviewer'")
    assert names(ledger.queues.open_to(ledger.people.named("Reviewer"))) == ["label"]
