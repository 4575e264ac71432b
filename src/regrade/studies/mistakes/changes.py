"""Changes of mistakes between two models: fixed, new and common ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from regrade.core import Estimate
from regrade.stats import proportion
from regrade.studies.mistakes.mistake_labels import MistakeList


@dataclass(frozen=True)
class Change:
    """The mistakes of ``model`` compared with those of the model ``against``, image by image.

    ``fixed`` are mistakes of ``against`` only, ``new`` of ``model`` only; on common ones the two predictions are the
    ``same`` or ``different``. ``fixed_share`` is relative to the mistakes of ``against``, None without any.
    """

    model: str
    against: str
    fixed: int
    new: int
    same: int
    different: int
    fixed_share: Estimate | None

    @property
    def common(self) -> int:
        """Number of images that both have wrong."""
        return self.same + self.different

    def as_dict(self) -> dict[str, Any]:
        """Return the change as a dict for JSON."""
        share = None if self.fixed_share is None else self.fixed_share.as_dict()
        fields = {"other" if name == "different" else name: value for name, value in vars(self).items()}
        return {**fields, "common": self.common, "fixed_share": share}


def change_between(mistakes: MistakeList, against: MistakeList, *, confidence: float) -> Change:
    """Compare one model's mistakes with those of another model."""
    images, first, second = np.intersect1d(mistakes.examples, against.examples, assume_unique=True, return_indices=True)
    common, same = len(images), int((mistakes.classes[first] == against.classes[second]).sum())
    fixed = len(against) - common
    share = proportion(fixed, len(against), confidence=confidence) if len(against) else None
    return Change(mistakes.source, against.source, fixed, len(mistakes) - common, same, common - same, share)
