"""What may stand on a ballot, for each question."""

from __future__ import annotations

from regrade.core import InputError, MistakeCategory, Severity, UnknownName
from regrade.core.panel import NO_MISTAKE, Answer
from regrade.ledger.records import Question, VoteContent

ANSWERS = {
    Question.JUDGE: [one.value for one in Answer],
    Question.MISTAKE: [*(one.value for one in MistakeCategory), NO_MISTAKE],
}
"""The answers to a question; a label may be any class."""


def check_ballot(question: Question, ballot: VoteContent) -> None:
    """Raise where an answer is not one of the question's; a label may be any class, which the caller knows."""
    if ballot.seconds is not None and not 0 <= ballot.seconds < float("inf"):
        raise InputError(f"a vote takes no negative or endless time, got {ballot.seconds} seconds")
    if ballot.answer is None:
        return
    known = ANSWERS.get(question)
    if known is not None and ballot.answer not in known:
        raise UnknownName("answer", ballot.answer, known)
    if question is not Question.MISTAKE or ballot.answer == NO_MISTAKE:
        if ballot.severity is not None:
            raise InputError("only a mistake is more or less grave")
    elif ballot.severity not in [one.value for one in Severity]:
        raise UnknownName("severity", ballot.severity or "", [one.value for one in Severity])
