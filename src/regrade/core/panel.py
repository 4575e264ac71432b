"""A panel: the roles of people, how they are asked, and the majority of their votes (Vasudevan et al. 2022)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from regrade.core.errors import UndefinedError


class Role(Enum):
    """What a person may do."""

    OWNER = "owner"
    """Everything, including managing people and queues."""
    REVIEWER = "reviewer"
    """Judge, discuss, decide, edit the guide, see all results."""
    LABELER = "labeler"
    """Label images, without seeing predictions of models or votes of others."""
    WORKER = "worker"
    """Select images in grids, and see nothing else."""


class WorkerEvent(Enum):
    """What happened to a worker in a queue of selection tasks; the last one that counts is their standing."""

    CONSENTED = "consented"
    QUALIFIED = "qualified"
    FAILED = "failed"
    """The qualification was not passed."""
    WARNED = "warned"
    PAUSED = "paused"
    EXCLUDED = "excluded"
    REINSTATED = "reinstated"


class Mode(Enum):
    """What people are shown after they answer."""

    EXAMINATION = "examination"
    """Nothing."""
    TRAINING = "training"
    """The correct classes: for practice; these answers are never counted."""


class Answer(Enum):
    """The answer of one reviewer about one class for one image."""

    CORRECT = "correct"
    UNCLEAR = "unclear"
    WRONG = "wrong"
    PROBLEMATIC = "problematic"
    """The image should not be scored: its original label is wrong, or it is a drawing, edited or inappropriate."""


class Claim(Enum):
    """What somebody who proposes a correction says about a class of an image."""

    MISSING = "missing"
    """The image shows the class, and the labels do not say so."""
    WRONG = "wrong"
    """The labels say that the image shows the class, and it does not."""
    PROBLEMATIC = "problematic"
    """The image should not be scored, whatever it shows."""


class PairRelation(Enum):
    """How two similar images are related."""

    DUPLICATE = "duplicate"
    """They show the same photograph, or the same scene in a moment: only one of them may be used."""
    DIFFERENT = "different"


class Fitness(Enum):
    """Whether an image belongs in a test set."""

    KEEP = "keep"
    PROBLEMATIC = "problematic"
    """It shows another class, is a drawing, edited or inappropriate: it is not drawn again."""


NO_MISTAKE = "no mistake"
"""The answer about a mistake if the prediction is correct after all, or the image should not be scored."""


class Reached(Enum):
    """How a decision was reached."""

    UNANIMOUSLY = "unanimously"
    BY_MAJORITY = "by majority"
    BY_TIE = "by tie"


@dataclass(frozen=True)
class Majority:
    """The answer that a panel's votes lead to, and how it was reached."""

    answer: str
    reached: Reached


def majority(votes: Sequence[str], *, tied: str | None) -> Majority:
    """The answer with the most votes.

    If several answers have the most votes, it is ``tied``, such as unclear; if ``tied`` is None, a tie raises an error,
    because the panel has to continue.

    >>> majority(["correct", "wrong", "correct"], tied="unclear")
    Majority(answer='correct', reached=<Reached.BY_MAJORITY: 'by majority'>)
    >>> majority(["correct", "wrong"], tied="unclear").answer
    'unclear'
    """
    if not votes:
        raise UndefinedError("a decision needs at least one vote")
    (answer, most), *rest = Counter(votes).most_common()
    if not rest:
        return Majority(answer, Reached.UNANIMOUSLY)
    if rest[0][1] < most:
        return Majority(answer, Reached.BY_MAJORITY)
    if tied is None:
        leading = " and ".join(sorted(name for name, count in [(answer, most), *rest] if count == most))
        raise UndefinedError(f"{leading} have equally many votes: a reviewer has to change their vote")
    return Majority(tied, Reached.BY_TIE)
