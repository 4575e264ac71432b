"""Outcomes of answers: right, wrong, novel or not scored."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from regrade.core.arrays import BoolArray
from regrade.studies.same_images import JudgedPredictions

Codes: TypeAlias = NDArray[np.uint8]
"""Outcomes (m, n) of models and people on images, one byte each."""


class AnswerOutcome(IntEnum):
    """The outcome of one answer."""

    NOT_COUNTED = 0
    RIGHT = 1
    WRONG = 2
    NOVEL = 3
    """Not judged yet; counts as wrong until it is."""


class AnswerKind(Enum):
    """Kinds of answers by which images can be filtered."""

    RIGHT = "right"
    WRONG = "wrong"
    NOVEL = "novel"
    MISSED = "missed"
    """Wrong or novel."""
    NOT_IN_FIVE = "not-in-five"
    """The original label is not among the top five."""


WORDS = {
    AnswerOutcome.NOT_COUNTED: "not scored",
    AnswerOutcome.RIGHT: "right",
    AnswerOutcome.WRONG: "wrong",
    AnswerOutcome.NOVEL: "novel",
}
"""Names of outcomes on pages."""

KIND_WORDS = {
    AnswerKind.RIGHT: "right",
    AnswerKind.WRONG: "wrong",
    AnswerKind.NOVEL: "novel",
    AnswerKind.MISSED: "wrong or novel",
    AnswerKind.NOT_IN_FIVE: "not in the top five",
}
"""Names of kinds of answers on pages."""

_CODES = {
    AnswerKind.RIGHT: (AnswerOutcome.RIGHT,),
    AnswerKind.WRONG: (AnswerOutcome.WRONG,),
    AnswerKind.NOVEL: (AnswerOutcome.NOVEL,),
    AnswerKind.MISSED: (AnswerOutcome.WRONG, AnswerOutcome.NOVEL),
}


def codes_of(judged: JudgedPredictions) -> Codes:
    """Shape (n,): the outcomes of one model's answers."""
    codes = np.zeros(len(judged.right), dtype=np.uint8)
    codes[judged.counted] = AnswerOutcome.WRONG
    codes[judged.counted & judged.novel] = AnswerOutcome.NOVEL
    codes[judged.counted & judged.right] = AnswerOutcome.RIGHT
    return codes


def has_kind(kind: AnswerKind, codes: Codes) -> BoolArray:
    """Which answers are of a kind, in the shape of the codes."""
    outcomes = _CODES[kind]
    return np.asarray(codes == outcomes[0]) if len(outcomes) == 1 else np.asarray(codes >= AnswerOutcome.WRONG)
