"""Slices whose numbers would tell a reader which models are right on images that they still have to answer."""

from __future__ import annotations

import numpy as np

from regrade.app.hidden_images import HiddenImages
from regrade.core import TestSet
from regrade.core.arrays import BoolArray

FEWEST = 20
"""Images that a slice has at least, for its numbers to be shown to someone from whom images of the set are hidden."""


def is_withheld(test_set: TestSet, inside: BoolArray, hidden: HiddenImages) -> bool:
    """Whether the numbers of a slice, ``inside`` (n,), are not shown: it is small, or hidden altogether.

    Small slices are withheld whether or not their own images are hidden: otherwise this would tell which ones are.
    """
    few = bool(np.count_nonzero(inside) < FEWEST)
    if few:
        hidden.visible(test_set, np.flatnonzero(inside).tolist())  # reads the contents, by which copies are found
    mask = hidden.mask(test_set)
    return bool(mask.any()) and (few or bool(mask[inside].all()))
