"""What came of every answer: right, wrong, or not judged by anyone."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from regrade.core.arrays import BoolArray
from regrade.studies.same_images import JudgedPredictions

Codes: TypeAlias = NDArray[np.uint8]
"""Outcomes (m, n) of models on images, one byte each."""


class AnswerOutcome(IntEnum):
    """What came of one answer."""

    NOT_COUNTED = 0
    RIGHT = 1
    WRONG = 2
    NOVEL = 3
    """No one has judged it: it counts as wrong until someone does."""


class AnswerKind(Enum):
    """Answers that images can be chosen by."""

    RIGHT = "right"
    WRONG = "wrong"
    NOVEL = "novel"
    MISSED = "missed"
    """Wrong or novel: everything that is not known to be right."""
    NOT_IN_FIVE = "not-in-five"
    """The image's own label is not among the best five."""


WORDS = {
    AnswerOutcome.NOT_COUNTED: "not scored",
    AnswerOutcome.RIGHT: "right",
    AnswerOutcome.WRONG: "wrong",
    AnswerOutcome.NOVEL: "novel",
}
"""Outcomes as pages say them."""

KIND_WORDS = {
    AnswerKind.RIGHT: "right",
    AnswerKind.WRONG: "wrong",
    AnswerKind.NOVEL: "novel",
    AnswerKind.MISSED: "wrong or novel",
    AnswerKind.NOT_IN_FIVE: "not in the best five",
}
"""Kinds of answers as pages say them."""

_CODES = {
    AnswerKind.RIGHT: (AnswerOutcome.RIGHT,),
    AnswerKind.WRONG: (AnswerOutcome.WRONG,),
    AnswerKind.NOVEL: (AnswerOutcome.NOVEL,),
    AnswerKind.MISSED: (AnswerOutcome.WRONG, AnswerOutcome.NOVEL),
}


def codes_of(found: JudgedPredictions) -> Codes:
    """Shape (n,): what came of one model's answers."""
    codes = np.zeros(len(found.right), dtype=np.uint8)
    codes[found.counted] = AnswerOutcome.WRONG
    codes[found.counted & found.novel] = AnswerOutcome.NOVEL
    codes[found.counted & found.right] = AnswerOutcome.RIGHT
    return codes


def are(kind: AnswerKind, codes: Codes) -> BoolArray:
    """Which answers are of a kind, in the shape of the codes."""
    wanted = _CODES[kind]
    return np.asarray(codes == wanted[0]) if len(wanted) == 1 else np.asarray(codes >= AnswerOutcome.WRONG)
