"""The slice of major mistakes: images on which most reviewed models make a major mistake (as in ImageNet-M)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regrade.core import Estimate, InputError, MistakeAnnotations, SliceSet
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray
from regrade.core.record import Record


@dataclass(frozen=True)
class MajorScore:
    """One model's accuracy on the major slice; None if no image is scored."""

    model: str
    right: Estimate | None


@dataclass(frozen=True, eq=False)
class MajorSlice(Record):
    """The images on which at least ``least`` of the reviewed ``models`` make a major mistake, as ``inside`` (n,)."""

    test_set: str
    models: tuple[str, ...]
    least: int
    inside: BoolArray
    scores: tuple[MajorScore, ...] = ()

    def json_fields(self) -> dict[str, Any]:
        """The models, the number of images, and the accuracies on them."""
        return {"models": self.models, "least": self.least, "images": self.images, "scores": self.scores}

    @property
    def images(self) -> int:
        """Number of images in the slice."""
        return int(self.inside.sum())

    def as_slices(self, name: str) -> SliceSet:
        """Return the slice as a named slice set, ready to be stored."""
        if not self.images:
            raise InputError(f"no image is a major mistake of {self.least} models: the slice would be empty")
        origin = f"major mistakes of at least {self.least} of {', '.join(self.models)}"
        inside = {name: self.inside}
        return SliceSet(name, self.test_set, len(self.inside), inside, origin=origin, chosen_hard=True)


def major_slice(reviews: Sequence[MistakeAnnotations], *, least: int | None = None) -> MajorSlice:
    """Return the images with a major mistake in at least ``least`` reviews (default: three quarters of them)."""
    if not reviews:
        raise InputError("a slice of major mistakes needs a review: regrade import mistakes")
    threshold = math.ceil(0.75 * len(reviews)) if least is None else least
    if not 1 <= threshold <= len(reviews):
        raise InputError(
            f"at least {threshold} of {amount(len(reviews), 'review')} of mistakes cannot be: give 1 to {len(reviews)}"
        )
    counts = np.zeros(reviews[0].size, dtype=np.int64)
    for review in reviews:
        counts[review.examples[review.major]] += 1
    return MajorSlice(reviews[0].test_set, tuple(review.model for review in reviews), threshold, counts >= threshold)
