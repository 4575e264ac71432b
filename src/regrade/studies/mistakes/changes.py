"""What a newer model fixed, what it broke, and what it still has wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regrade.core import Estimate
from regrade.stats import proportion
from regrade.studies.mistakes.mistake_labels import MistakeList


@dataclass(frozen=True)
class Change:
    """The mistakes of ``model`` held against those of ``against``, image by image.

    ``fixed`` were mistakes of the other alone and ``new`` are its own; common ones have the ``same`` answer or an
    ``other``. ``fixed_share`` is of the other's mistakes, none where it has none.
    """

    model: str
    against: str
    fixed: int
    new: int
    same: int
    other: int
    fixed_share: Estimate | None

    @property
    def common(self) -> int:
        """Images that both have wrong."""
        return self.same + self.other


def change_between(mistakes: MistakeList, against: MistakeList, *, confidence: float) -> Change:
    """Hold one model's mistakes against another's."""
    _, here, there = np.intersect1d(mistakes.examples, against.examples, assume_unique=True, return_indices=True)
    same = int((mistakes.classes[here] == against.classes[there]).sum())
    fixed = len(against) - len(here)
    share = proportion(fixed, len(against), confidence=confidence) if len(against) else None
    return Change(mistakes.source, against.source, fixed, len(mistakes) - len(here), same, len(here) - same, share)
