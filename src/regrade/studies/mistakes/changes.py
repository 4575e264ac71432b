"""Changes of mistakes between two models: fixed, new and common ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regrade.core import Estimate
from regrade.core.record import Record, json_key
from regrade.stats import proportion
from regrade.studies.mistakes.mistake_labels import MistakeList


@dataclass(frozen=True)
class Change(Record):
    """The mistakes of ``model`` compared with those of the model ``against``, image by image.

    ``fixed`` are mistakes of ``against`` only, ``new`` of ``model`` only; on common ones the two predictions are the
    ``same`` or ``different``. ``fixed_share`` is relative to the mistakes of ``against``, None without any.
    """

    model: str
    against: str
    fixed: int
    new: int
    same: int
    different: int = field(metadata=json_key("other"))
    fixed_share: Estimate | None

    def json_fields(self) -> dict[str, Any]:
        """The fields, with the common mistakes."""
        return {**super().json_fields(), "common": self.common}

    @property
    def common(self) -> int:
        """Number of images that both have wrong."""
        return self.same + self.different


def change_between(mistakes: MistakeList, against: MistakeList, *, confidence: float) -> Change:
    """Compare one model's mistakes with those of another model."""
    images, first, second = np.intersect1d(mistakes.examples, against.examples, assume_unique=True, return_indices=True)
    common, same = len(images), int((mistakes.classes[first] == against.classes[second]).sum())
    fixed = len(against) - common
    share = proportion(fixed, len(against), confidence=confidence) if len(against) else None
    return Change(mistakes.source, against.source, fixed, len(mistakes) - common, same, common - same, share)
