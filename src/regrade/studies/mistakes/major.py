"""The slice of major mistakes: images that most reviewed models get gravely wrong (ImageNet-M's rule)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regrade.core import Estimate, InputError, MistakeReview, SliceSet
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray


@dataclass(frozen=True)
class MajorScore:
    """One model on the major slice: the share of its images that it has right, none where none is scored."""

    model: str
    right: Estimate | None


@dataclass(frozen=True, eq=False)
class MajorSlice:
    """The images on which at least ``least`` of the reviewed ``models`` make a major mistake, as ``inside`` (n,)."""

    test_set: str
    models: tuple[str, ...]
    least: int
    inside: BoolArray
    scores: tuple[MajorScore, ...] = ()

    @property
    def images(self) -> int:
        """How many images are in it."""
        return int(self.inside.sum())

    def as_slices(self, name: str) -> SliceSet:
        """The slice, ready to be stored under a name."""
        if not self.images:
            raise InputError(f"no image is a major mistake of {self.least} models: there is no slice to keep")
        origin = f"major mistakes of at least {self.least} of {', '.join(self.models)}"
        inside = {name: self.inside}
        return SliceSet(name, self.test_set, len(self.inside), inside, origin=origin, chosen_hard=True)


def major_slice(reviews: Sequence[MistakeReview], *, least: int | None = None) -> MajorSlice:
    """The images that at least ``least`` of the reviews call a major mistake: three of four of them, unless told."""
    if not reviews:
        raise InputError("a slice of major mistakes needs a review: regrade import mistakes")
    wanted = math.ceil(0.75 * len(reviews)) if least is None else least
    if not 1 <= wanted <= len(reviews):
        raise InputError(
            f"at least {wanted} of {amount(len(reviews), 'review')} of mistakes cannot be: give 1 to {len(reviews)}"
        )
    votes = np.zeros(reviews[0].size, dtype=np.int64)
    for review in reviews:
        votes[review.examples[review.major]] += 1
    return MajorSlice(reviews[0].test_set, tuple(review.model for review in reviews), wanted, votes >= wanted)
