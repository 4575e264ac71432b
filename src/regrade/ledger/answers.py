"""The valid answers to each question."""

from __future__ import annotations

from regrade.core import InputError, MistakeCategory, Severity, UnknownName
from regrade.core.panel import NO_MISTAKE, Answer
from regrade.ledger.records import Question, VoteContent

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
