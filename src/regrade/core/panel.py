"""What a panel makes of its members' votes (Vasudevan et al. 2022): independent votes, discussion, a verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from regrade.core.errors import UndefinedError


class Answer(Enum):
    """What one person says of one class for one image."""

    CORRECT = "correct"
    UNCLEAR = "unclear"
    WRONG = "wrong"
    PROBLEMATIC = "problematic"
    """The image should not be scored: its own label is wrong, or it is a drawing, edited or inappropriate."""


NO_MISTAKE = "no mistake"
"""What someone says of a mistake who finds the prediction right after all, or the image not fit to be scored."""


class Reached(Enum):
    """How a verdict came about."""

    UNANIMOUSLY = "unanimously"
    BY_MAJORITY = "by majority"
    BY_TIE = "by tie"


@dataclass(frozen=True)
class Verdict:
    """What a panel says, and how it came to it."""

    answer: str
    reached: Reached


def verdict(votes: Sequence[str], *, tied: str | None) -> Verdict:
    """What all or most of the votes say, once they will not change any more.

    Where two answers have the most votes it is ``tied``, as unclear is between correct and wrong; without one, a tie
    raises: the panel has to go on.

    >>> verdict(["correct", "wrong", "correct"], tied="unclear")
    Verdict(answer='correct', reached=<Reached.BY_MAJORITY: 'by majority'>)
    >>> verdict(["correct", "wrong"], tied="unclear").answer
    'unclear'
    """
    if not votes:
        raise UndefinedError("there is no verdict without a vote")
    (answer, most), *others = Counter(votes).most_common()
    if not others:
        return Verdict(answer, Reached.UNANIMOUSLY)
    if others[0][1] < most:
        return Verdict(answer, Reached.BY_MAJORITY)
    if tied is None:
        both = " and ".join(sorted(name for name, count in [(answer, most), *others] if count == most))
        raise UndefinedError(f"as many say {both}: someone has to change their vote")
    return Verdict(tied, Reached.BY_TIE)
