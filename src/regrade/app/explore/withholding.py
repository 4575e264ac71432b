"""Slices whose numbers would reveal which models are right on images that the reader still has to answer about."""

from __future__ import annotations

import numpy as np

from regrade.app.hidden_images import HiddenImages
from regrade.core import TestSet
from regrade.core.arrays import BoolArray

MIN_SLICE_SIZE = 20
"""Fewest images of a slice whose numbers are shown to a person with hidden images in the test set."""


def is_withheld(test_set: TestSet, inside: BoolArray, hidden: HiddenImages) -> bool:
    """Whether to withhold the numbers of a slice, ``inside`` (n,): it is small, or all its images are hidden.

    Small slices are withheld even if none of their own images is hidden: otherwise this would reveal which ones are.
    """
    few = bool(np.count_nonzero(inside) < MIN_SLICE_SIZE)
    if few:
        hidden.visible(test_set, np.flatnonzero(inside).tolist())  # reads the contents, by which copies are found
    mask = hidden.mask(test_set)
    return bool(mask.any()) and (few or bool(mask[inside].all()))
