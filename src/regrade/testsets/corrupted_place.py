"""Where a corrupted image comes from, as plain text: which clean image, how it is read, what is done to it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from regrade.core import FormatError


@dataclass(frozen=True)
class CleanPlace:
    """A clean image: its id, its place as its own reader knows it, and how it is to be read."""

    image: str
    location: str
    reader: str
    orientation: str
    border: int

    def text(self) -> str:
        """The place as JSON."""
        return json.dumps(vars(self), ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str) -> CleanPlace:
        """The place behind a text; any other text raises."""
        try:
            return cls(**json.loads(text))
        except (ValueError, TypeError):
            raise _not_a_place(text) from None


class CorruptedPlace(NamedTuple):
    """What is done to a clean image, which ``clean`` gives as text: there may be millions of these."""

    corruption: str
    severity: int
    clean: str

    def text(self) -> str:
        """The place as a location: ``fog/3`` and the clean image."""
        return f"{self.corruption}/{self.severity} {self.clean}"

    @classmethod
    def from_text(cls, text: str) -> CorruptedPlace:
        """The place behind a location; any other text raises."""
        kind, _, clean = text.partition(" ")
        corruption, _, severity = kind.partition("/")
        if not severity.isdecimal():
            raise _not_a_place(text)
        return cls(corruption, int(severity), clean)

    def rng(self, image: str) -> np.random.Generator:
        """Randomness that belongs to this image alone, whatever is read before or beside it."""
        key = json.dumps([image, self.corruption, self.severity])
        return np.random.default_rng(int.from_bytes(hashlib.sha256(key.encode()).digest()))


def _not_a_place(text: str) -> FormatError:
    return FormatError(f"{text!r} is no place of a corrupted image")
