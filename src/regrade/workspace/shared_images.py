"""Which examples of two test sets are the same image, by what they are called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regrade.core import UNLABELED, TestSet
from regrade.core.arrays import BoolArray, IntArray

_SAME_LABEL = 0.5  # share of equal labels from which sets with ids in common are taken to hold the same images


@dataclass(frozen=True, eq=False)
class SharedImages:
    """Which image each example of a first test set (n,) and of a second one (m,) shows, by number.

    -1 marks an example of the second set that is no image of the first.
    """

    first: IntArray
    second: IntArray

    def in_second(self, chosen: BoolArray) -> BoolArray:
        """Shape (m,): the examples of the second set that show one of the chosen examples (n,) of the first."""
        images = np.zeros(int(self.first.max(initial=-1)) + 2, dtype=bool)  # the last: no image of the first (-1)
        images[self.first[chosen]] = True
        return images[self.second]


def shared_images(first: TestSet, second: TestSet) -> SharedImages | None:
    """The images that two test sets share by their ids; none where they share none, or have other classes.

    Corrupted images are called what the clean ones are. Sets that merely number their files alike share
    none: less than half of the labels of their common ids are equal. That is decided for the sets as a whole, so that
    it says nothing about a single image.
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
    """What the image of each example (n,) is called: the id, or of a corrupted image the clean one's."""
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
