"""The times that one person spent on each image."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regrade.core.arrays import FloatArray
from regrade.core.errors import InputError, MismatchError


@dataclass(frozen=True, eq=False)
class AnswerTimes:
    """``start`` and ``end`` (n,) of each answer in seconds of any clock; NaN if unknown."""

    start: FloatArray
    end: FloatArray

    def __post_init__(self) -> None:
        if self.start.ndim != 1 or self.start.shape != self.end.shape:
            raise MismatchError(f"times: starts of shape {self.start.shape}, ends of shape {self.end.shape}")
        if (self.end < self.start).any():
            raise InputError(f"times: answer {int(np.argmax(self.end < self.start))} ends before it starts")

    def __len__(self) -> int:
        return len(self.start)

    @property
    def seconds(self) -> FloatArray:
        """Shape (n,): the duration of each answer in seconds; NaN if unknown."""
        return self.end - self.start
