"""The questions that queues ask, and their rules."""

from dataclasses import replace
from importlib.metadata import EntryPoint

import pytest

from regrade.core import AlreadyStored, InputError, LedgerDamaged, UndefinedError, UnknownName
from regrade.core.panel import Reached
from regrade.ledger import (
    QUESTIONS,
    NewDecision,
    NewItem,
    Question,
    Role,
    VoteContent,
    panel_decision,
    question_named,
    questions,
    register,
)
from regrade.ledger.questions import check_reason, check_vote

SHARPNESS = Question("sharpness", "Is it sharp?", answers=("sharp", "blurred"), shows_predictions=False)


@pytest.fixture
def sharpness(monkeypatch):
    monkeypatch.setattr(questions, "QUESTIONS", dict(QUESTIONS))
    return register(SHARPNESS)


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=list(QUESTIONS))
class TestEveryQuestion:
    def test_question_is_found_by_its_name(self, question):
        assert question_named(question.name) is question

    def test_rules_are_about_answers_of_the_question(self, question):
        assert {*question.graded, *question.explained} <= set(question.answers)
        assert question.tied is None or question.tied in question.answers

    def test_unanimous_votes_decide(self, question):
        for answer in question.answers:
            severity = "major" if answer in question.graded else None
            check_vote(question, VoteContent("key", answer, severity))
            decided = panel_decision(question, [(answer, severity)] * 3)
            assert decided == NewDecision(answer, severity, Reached.UNANIMOUSLY)

    def test_check_vote_rejects_other_answers(self, question):
        if question.answers:
            with pytest.raises(UnknownName, match="answer"):
                check_vote(question, VoteContent("key", "none of them"))

    def test_check_vote_requires_a_severity_of_graded_answers_only(self, question):
        for answer in question.answers:
            severity, error = (None, UnknownName) if answer in question.graded else ("major", InputError)
            with pytest.raises(error, match="severity"):
                check_vote(question, VoteContent("key", answer, severity))

    @pytest.mark.parametrize("reason", ["", " "])
    def test_check_reason_requires_a_reason_of_explained_answers_only(self, question, reason):
        for answer in question.answers:
            content = VoteContent("key", answer, reason=reason)
            if answer in question.explained:
                with pytest.raises(InputError, match=f"needs a reason: say why the answer is '{answer}'"):
                    check_reason(question, content)
                content = replace(content, reason="drawing")
            check_reason(question, content)


def test_explained_answers():
    """Those that take an image or a mistake out of the score, or an image out of a test set."""
    explained = {question.name: question.explained for question in QUESTIONS.values() if question.explained}
    assert explained == {"judge": ("problematic",), "mistake": ("no mistake",), "review": ("problematic",)}


@pytest.mark.parametrize(
    ("question", "answer"),
    [(Question.JUDGE, "problematic"), (Question.MISTAKE, "no mistake"), (Question.REVIEW, "problematic")],
)
def test_ledger_rejects_a_vote_without_the_reason_it_needs(ledger, question, answer):
    queue = ledger.queues.create("all", question, test_set="val")
    ledger.items.add(queue, [NewItem("a.jpg", "cat")])
    ada = ledger.people.add("Ada", Role.REVIEWER)
    with pytest.raises(InputError, match="needs a reason"):
        ledger.votes.cast(1, ada, VoteContent("key", answer))
    assert ledger.queues.progress(queue).by_person == {}
    ledger.votes.cast(1, ada, VoteContent("key", answer, reason="drawing"))
    assert ledger.decisions.current(1).answer == answer


def test_register_rejects_a_name_with_other_rules(sharpness):
    assert register(SHARPNESS) is sharpness
    with pytest.raises(AlreadyStored, match="there is a question 'sharpness' already"):
        register(Question("sharpness", "How sharp is it?"))


def test_question_named_loads_installed_questions(monkeypatch):
    monkeypatch.setattr(questions, "QUESTIONS", dict(QUESTIONS))
    point = EntryPoint("sharpness", f"{__name__}:SHARPNESS", questions.ENTRY_POINTS)
    monkeypatch.setattr(EntryPoint, "load", lambda _: SHARPNESS)
    monkeypatch.setattr(questions, "entry_points", lambda **where: [point] if where["name"] == point.name else [])
    assert question_named("sharpness") is SHARPNESS
    with pytest.raises(UnknownName, match="unknown question 'blur'"):
        question_named("blur")


def test_ledger_asks_a_registered_question(ledger, sharpness):
    queue = ledger.queues.create("sharpness", sharpness, test_set="val", overlap=2)
    ledger.items.add(queue, [NewItem("a.jpg")])
    people = [ledger.people.add("Ada", Role.LABELER), ledger.people.add("Bob", Role.REVIEWER)]
    assert ledger.queues.open_to(people[0]) == (queue,)
    item = ledger.items.next(queue, people[0])
    for person, answer in zip(people, ("sharp", "blurred"), strict=True):
        ledger.votes.cast(item.id, person, VoteContent(person.name, answer))
    with pytest.raises(UndefinedError, match="blurred and sharp have equally many votes"):
        ledger.decisions.lock(item.id, people[1])
    ledger.votes.cast(item.id, people[0], VoteContent("again", "blurred", why="looked"))
    assert ledger.decisions.current(item.id).answer == "blurred"
    assert ledger.problems() == ()


def test_ledger_with_an_unknown_question_is_reported(ledger, sharpness, monkeypatch):
    ledger.queues.create("sharpness", sharpness, test_set="val")
    monkeypatch.setattr(questions, "QUESTIONS", {"judge": Question.JUDGE, "label": Question.LABEL})
    with pytest.raises(LedgerDamaged, match="found 'sharpness' instead of judge"):
        ledger.queues.all()
