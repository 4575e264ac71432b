"""The questions: their valid answers, who may answer them, who sees the votes, and how a panel decides them."""

from __future__ import annotations

from collections.abc import Sequence

from regrade.core import InputError, MistakeCategory, Severity, UnknownName
from regrade.core.panel import NO_MISTAKE, Answer, Majority, Reached, majority
from regrade.ledger.records import Mode, Question, Role, VoteContent

ANSWERS = {
    Question.JUDGE: [answer.value for answer in Answer],
    Question.MISTAKE: [*(category.value for category in MistakeCategory), NO_MISTAKE],
}
"""The valid answers by question; `Question.LABEL` is missing, since a label may be any class."""


def check_vote(question: Question, content: VoteContent) -> None:
    """Raise if a vote is not valid for a question; whether a label is a known class is checked by the caller."""
    if content.seconds is not None and not 0 <= content.seconds < float("inf"):
        raise InputError(f"the time of a vote must be finite and not negative, got {content.seconds} seconds")
    if content.answer is None:
        return
    valid_answers = ANSWERS.get(question)
    if valid_answers is not None and content.answer not in valid_answers:
        raise UnknownName("answer", content.answer, valid_answers)
    severities = [severity.value for severity in Severity]
    if question is not Question.MISTAKE or content.answer == NO_MISTAKE:
        if content.severity is not None:
            raise InputError("only a mistake has a severity")
    elif content.severity not in severities:
        raise UnknownName("severity", content.severity or "", severities)


def may_answer(role: Role, question: Question) -> bool:
    """Whether a role may answer a question: labelers only label, since other questions show models' predictions."""
    return question is Question.LABEL or role is not Role.LABELER


def shows_votes(question: Question, mode: Mode, role: Role) -> bool:
    """Whether a role can see the votes on a complete item: not labelers on labels, and no one in training."""
    return mode is not Mode.TRAINING and (question is not Question.LABEL or role is not Role.LABELER)


def panel_decision(question: Question, votes: Sequence[tuple[str, str | None]]) -> tuple[Majority, str | None]:
    """The decision and severity that follow from votes, given as pairs of answer and severity.

    A tie between answers is decided as unclear, a tie between severities as borderline; a tie between mistake
    categories raises. Votes for "no mistake" do not count for the severity.
    """
    answers = [answer for answer, _ in votes]
    if question is Question.JUDGE:
        return majority(answers, tied=Answer.UNCLEAR.value), None
    kind = majority(answers, tied=None)
    if kind.answer == NO_MISTAKE:
        return kind, None
    severities = [severity or "" for answer, severity in votes if answer != NO_MISTAKE]
    severity = majority(severities, tied=Severity.BORDERLINE.value)
    unanimous = kind.reached is severity.reached is Reached.UNANIMOUSLY
    return Majority(kind.answer, Reached.UNANIMOUSLY if unanimous else Reached.BY_MAJORITY), severity.answer or None
