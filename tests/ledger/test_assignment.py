"""Whose queues are whose."""

import pytest

from regrade.core import InputError
from regrade.ledger import Question, Role, may_answer


@pytest.fixture
def team(ledger):
    return {role: ledger.add_person(role.value.title(), role) for role in Role}


@pytest.fixture
def queues(ledger):
    return {one: ledger.open_queue(one.value, one, test_set="val", overlap=2) for one in Question}


def names(found):
    return [one.name for one in found]


@pytest.mark.usefixtures("queues")
def test_a_queue_is_for_everyone_whose_role_allows_it(ledger, team):
    assert names(ledger.queues_of(team[Role.LABELER])) == ["label"]
    for role in (Role.OWNER, Role.REVIEWER):
        assert names(ledger.queues_of(team[role])) == ["judge", "label", "mistake"]


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("question", Question)
def test_labelers_see_no_models_answer(role, question):
    assert may_answer(role, question) == (question is Question.LABEL or role is not Role.LABELER)


def test_given_to_some_it_is_no_one_elses(ledger, team, queues):
    ledger.assign(queues[Question.JUDGE], [team[Role.REVIEWER]])
    assert names(ledger.assigned(queues[Question.JUDGE])) == ["Reviewer"]
    assert names(ledger.queues_of(team[Role.REVIEWER])) == ["judge", "label", "mistake"]
    assert names(ledger.queues_of(team[Role.OWNER])) == ["label", "mistake"]


def test_giving_it_again_replaces_who_has_it(ledger, team, queues):
    label = queues[Question.LABEL]
    ledger.assign(label, [team[Role.LABELER], team[Role.LABELER]])
    ledger.assign(label, [team[Role.OWNER], team[Role.REVIEWER]])
    assert names(ledger.assigned(label)) == ["Owner", "Reviewer"]
    assert names(ledger.queues_of(team[Role.LABELER])) == []
    ledger.assign(label, [])
    assert ledger.assigned(label) == ()
    assert names(ledger.queues_of(team[Role.LABELER])) == ["label"]


def test_a_labeler_cannot_be_given_what_shows_models_answers(ledger, team, queues):
    with pytest.raises(InputError, match="Labeler is a labeler"):
        ledger.assign(queues[Question.MISTAKE], [team[Role.REVIEWER], team[Role.LABELER]])
    assert ledger.assigned(queues[Question.MISTAKE]) == ()


def test_who_turned_labeler_keeps_no_such_queue(ledger, team, queues):
    """The role is what counts, whatever was assigned before."""
    ledger.assign(queues[Question.JUDGE], [team[Role.REVIEWER]])
    with ledger.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE person SET role = 'labeler' WHERE name = 'Reviewer'")
    assert names(ledger.queues_of(ledger.person("Reviewer"))) == ["label"]
