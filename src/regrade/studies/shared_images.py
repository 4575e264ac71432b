"""Which examples of two test sets are the same image, by their ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regrade.core import UNLABELED, TestSet
from regrade.core.arrays import BoolArray, IntArray

_SAME_LABEL = 0.5  # minimum share of equal labels for common ids to mean the same images


@dataclass(frozen=True, eq=False)
class SharedImages:
    """The image numbers of the examples of a first (n,) and a second (m,) test set.

    -1 marks an example of the second set that is not in the first.
    """

    first: IntArray
    second: IntArray

    def in_second(self, chosen: BoolArray) -> BoolArray:
        """Mask (m,) of the examples of the second set that show one of the chosen examples (n,) of the first."""
        images = np.zeros(int(self.first.max(initial=-1)) + 2, dtype=bool)  # the last entry stands for -1
        images[self.first[chosen]] = True
        return images[self.second]


def shared_images(first: TestSet, second: TestSet) -> SharedImages | None:
    """The images that two test sets share by their ids; None if there are none, or the class spaces differ.

    Corrupted images count as the clean image. Sets that merely number their files in the same way share nothing:
    less than half of the labels of their common ids are equal. This is decided for the sets as a whole, so that the
    result reveals nothing about a single image.
    """
    if first.class_space.name != second.class_space.name:
        return None
    if first is second and image_names(first) is first.ids:
        return SharedImages(np.arange(len(first)), np.arange(len(first)))
    numbers: dict[str, int] = {}
    ours = np.array([numbers.setdefault(name, len(numbers)) for name in image_names(first)], dtype=np.int64)
    theirs = np.array([numbers.get(name, -1) for name in image_names(second)], dtype=np.int64)
    shared = SharedImages(ours, theirs)
    return shared if first is second or _same_labels(first, second, shared) else None


def image_names(test_set: TestSet) -> Sequence[str]:
    """The image name of each example (n,): its id, or for a corrupted image the id of the clean image."""
    groups = test_set.groups
    if "image" in groups:
        return groups["image"]
    if "corruption" not in groups or "severity" not in groups:
        return test_set.ids
    kinds = zip(test_set.ids, groups["corruption"], groups["severity"], strict=True)
    return [example.removeprefix(f"{corruption}/{severity}/") for example, corruption, severity in kinds]


def _same_labels(first: TestSet, second: TestSet, shared: SharedImages) -> bool:
    common = shared.second >= 0
    if not common.any():
        return False
    label_of = np.full(int(shared.first.max()) + 1, UNLABELED)
    label_of[shared.first] = first.labels
    ours, theirs = label_of[shared.second[common]], second.labels[common]
    labeled = (ours != UNLABELED) & (theirs != UNLABELED)
    return not labeled.any() or bool((ours == theirs)[labeled].mean() >= _SAME_LABEL)
