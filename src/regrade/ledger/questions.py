"""The questions that queues ask: each is one record with its answers, who may answer it, and how a panel decides."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from reprlib import repr as brief
from typing import TYPE_CHECKING, ClassVar

from regrade.core import AlreadyStored, InputError, MistakeCategory, Severity, UnknownName
from regrade.core.panel import NO_MISTAKE, Answer, Fitness, PairRelation, Reached, majority

if TYPE_CHECKING:
    from regrade.ledger.records import VoteContent

ENTRY_POINTS = "regrade.questions"
"""The entry-point group in which installed packages offer questions."""


@dataclass(frozen=True)
class Question:
    """What a queue asks about each image, and the rules for its answers.

    ``name`` is stored in the ledger and ``text`` is shown to people. ``answers`` are the valid ones; empty if an answer
    is a class of the test set. ``graded`` are the answers that need a severity, ``explained`` those that need a reason.
    ``tied`` is the decision if several answers have the most votes; if it is None, the panel has to go on. Questions
    that ``shows_predictions`` is True for are not for labelers, and only those ``for_workers`` are for workers of a
    crowd. ``decided`` is False if everyone's own answer is kept instead of a decision of the panel. ``final`` answers
    cannot be changed or taken back. ``form`` is the regular expression of answers that are neither listed nor a class.
    ``subject`` is what a vote states, as tables of agreement call it.
    """

    name: str
    text: str
    answers: tuple[str, ...] = ()
    graded: tuple[str, ...] = ()
    explained: tuple[str, ...] = ()
    tied: str | None = None
    shows_predictions: bool = True
    decided: bool = True
    for_workers: bool = False
    final: bool = False
    form: str = ""
    subject: str = "answer"

    JUDGE: ClassVar[Question]
    LABEL: ClassVar[Question]
    MISTAKE: ClassVar[Question]
    SELECT: ClassVar[Question]
    PAIR: ClassVar[Question]
    REVIEW: ClassVar[Question]


@dataclass(frozen=True)
class NewDecision:
    """What a panel's votes lead to: the answer, its severity if it has one, and how it was reached."""

    answer: str
    severity: str | None
    reached: Reached


QUESTIONS: dict[str, Question] = {}
"""The registered questions by name."""


def register(question: Question) -> Question:
    """Make a question known to all ledgers of this process, and return it; raises if its name is taken."""
    if QUESTIONS.setdefault(question.name, question) != question:
        raise AlreadyStored(f"there is a question {question.name!r} already, with other rules")
    return question


def question_named(name: str) -> Question:
    """A registered question, or one that an installed package offers; raises if there is none."""
    if name not in QUESTIONS:
        for point in entry_points(group=ENTRY_POINTS, name=name):
            register(point.load())
    if name not in QUESTIONS:
        raise UnknownName("question", name, list(QUESTIONS))
    return QUESTIONS[name]


Question.JUDGE = register(
    Question(
        "judge",
        "Is this class right?",
        answers=tuple(answer.value for answer in Answer),
        explained=(Answer.PROBLEMATIC.value,),
        tied=Answer.UNCLEAR.value,
        subject="verdict",
    )
)
Question.LABEL = register(
    Question("label", "Which class is it?", shows_predictions=False, decided=False, subject="label")
)
Question.MISTAKE = register(
    Question(
        "mistake",
        "What kind of mistake is it?",
        answers=(*(category.value for category in MistakeCategory), NO_MISTAKE),
        graded=tuple(category.value for category in MistakeCategory),
        explained=(NO_MISTAKE,),
        subject="category",
    )
)
Question.SELECT = register(
    Question(
        "select",
        "Which images show this class?",
        shows_predictions=False,
        decided=False,
        for_workers=True,
        final=True,
        form="[01]+",  # a digit per tile of the task, in the order of the stored task
        subject="selection",
    )
)
Question.PAIR = register(
    Question(
        "pair",
        "Are these two images duplicates?",
        answers=tuple(relation.value for relation in PairRelation),
        tied=PairRelation.DUPLICATE.value,
        shows_predictions=False,
    )
)
Question.REVIEW = register(
    Question(
        "review",
        "Does this image belong in the test set?",
        answers=tuple(fitness.value for fitness in Fitness),
        explained=(Fitness.PROBLEMATIC.value,),
        tied=Fitness.PROBLEMATIC.value,
        shows_predictions=False,
    )
)


def check_vote(question: Question, content: VoteContent) -> None:
    """Raise if a vote is not valid for a question; whether a label is a known class is checked by the caller."""
    if content.seconds is not None and not 0 <= content.seconds < float("inf"):
        raise InputError(f"the time of a vote must be finite and not negative, got {content.seconds} seconds")
    if content.answer is None:
        return
    if question.answers and content.answer not in question.answers:
        raise UnknownName("answer", content.answer, list(question.answers))
    if question.form and not re.fullmatch(question.form, content.answer):
        raise InputError(f"this is not a {question.subject}: {brief(content.answer)}")
    severities = [severity.value for severity in Severity]
    if content.answer not in question.graded:
        if content.severity is not None:
            raise InputError("only a mistake has a severity")
    elif content.severity not in severities:
        raise UnknownName("severity", content.severity or "", severities)


def check_reason(question: Question, content: VoteContent) -> None:
    """Raise if a new vote lacks the reason that its answer needs; rows of earlier ledgers may lack it."""
    if content.answer in question.explained and not content.reason.strip():
        raise InputError(f"this vote needs a reason: say why the answer is {content.answer!r}")


def check_final(question: Question, answered: bool) -> None:
    """Raise if a person ``answered`` before, and answers to the question are final."""
    if question.final and answered:
        raise AlreadyStored("you have answered this before, and answers are not changed")


def panel_decision(question: Question, votes: Sequence[tuple[str, str | None]]) -> NewDecision:
    """The decision that follows from votes, given as pairs of answer and severity.

    The severity is decided by the votes whose answer needs one; a tie between severities is decided as borderline.
    """
    leading = majority([answer for answer, _ in votes], tied=question.tied)
    if leading.answer not in question.graded:
        return NewDecision(leading.answer, None, leading.reached)
    severities = [severity or "" for answer, severity in votes if answer in question.graded]
    severity = majority(severities, tied=Severity.BORDERLINE.value)
    unanimous = leading.reached is severity.reached is Reached.UNANIMOUSLY
    reached = Reached.UNANIMOUSLY if unanimous else Reached.BY_MAJORITY
    return NewDecision(leading.answer, severity.answer or None, reached)
