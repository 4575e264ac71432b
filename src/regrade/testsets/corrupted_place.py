"""The location of a corrupted image as text: its clean image, how that is read, and the corruption."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from regrade.core import FormatError


@dataclass(frozen=True)
class CleanPlace:
    """A clean image: its id, its location for its own reader, and how it is read."""

    image: str
    location: str
    reader: str
    orientation: str
    border: int

    def text(self) -> str:
        """The location as JSON."""
        return json.dumps(vars(self), ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str) -> CleanPlace:
        """Parse the JSON of a location; raise if it is invalid."""
        try:
            return cls(**json.loads(text))
        except (ValueError, TypeError):
            raise _invalid_location(text) from None


class CorruptedPlace(NamedTuple):
    """The corruption of a clean image; ``clean`` stays text, since there may be millions of these."""

    corruption: str
    severity: int
    clean: str

    def text(self) -> str:
        """The location as text: ``fog/3``, a space and the clean image."""
        return f"{self.corruption}/{self.severity} {self.clean}"

    @classmethod
    def from_text(cls, text: str) -> CorruptedPlace:
        """Parse the text of a location; raise if it is invalid."""
        kind, _, clean = text.partition(" ")
        corruption, _, severity = kind.partition("/")
        if not severity.isdecimal():
            raise _invalid_location(text)
        return cls(corruption, int(severity), clean)

    def rng(self, image: str) -> np.random.Generator:
        """A random generator that depends only on the image, corruption and severity."""
        key = json.dumps([image, self.corruption, self.severity])
        return np.random.default_rng(int.from_bytes(hashlib.sha256(key.encode()).digest()))


def _invalid_location(text: str) -> FormatError:
    return FormatError(f"{text!r} is not the location of a corrupted image")
