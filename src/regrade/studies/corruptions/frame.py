"""The positions of each image of a corrupted test set under each corruption and severity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from regrade.core import InputError, TestSet
from regrade.core.arrays import FloatArray, IntArray
from regrade.metrics import ALEXNET_ERRORS

_SEVERITIES = ("1", "2", "3", "4", "5")


@dataclass(frozen=True, eq=False)
class CorruptionFrame:
    """``positions`` (images, corruptions, severities) in the test set; each combination occurs exactly once."""

    images: tuple[str, ...]
    corruptions: tuple[str, ...]
    severities: tuple[str, ...]
    positions: IntArray

    @cached_property
    def reference_corruptions(self) -> IntArray:
        """Indices of the corruptions for which AlexNet's error is published; empty unless all five severities exist."""
        published = [number for number, name in enumerate(self.corruptions) if name in ALEXNET_ERRORS]
        return np.array(published if self.severities == _SEVERITIES else [], dtype=int)

    @property
    def reference_errors(self) -> FloatArray:
        """AlexNet's errors under the reference corruptions."""
        return np.array([ALEXNET_ERRORS[self.corruptions[number]] for number in self.reference_corruptions])


def corruption_frame(test_set: TestSet) -> CorruptionFrame:
    """Index a test set with group columns ``corruption`` and ``severity``; missing combinations raise.

    The group column ``image`` names the image of an example; without it, the id after ``corruption/severity/`` does.
    """
    for column in ("corruption", "severity"):
        if column not in test_set.groups:
            raise InputError(
                f"test set {test_set.name} has no group column {column!r}: create one with regrade testsets corrupt"
            )
    images, image_of = _coded(_images(test_set), sorted)
    corruptions, corruption_of = _coded(test_set.groups["corruption"], _paper_order)
    severities, severity_of = _coded(test_set.groups["severity"], sorted)
    positions = np.full((len(images), len(corruptions), len(severities)), -1)
    positions[image_of, corruption_of, severity_of] = np.arange(len(test_set))
    missing = np.argwhere(positions < 0)
    if len(missing):
        image, corruption, severity = missing[0].tolist()
        raise InputError(
            f"test set {test_set.name} lacks {corruptions[corruption]} of severity {severities[severity]} for image "
            f"{images[image]!r}: add the missing examples, every image is needed under every corruption and severity"
        )
    if len(test_set) > positions.size:
        raise InputError(f"test set {test_set.name} has an image twice under the same corruption and severity")
    return CorruptionFrame(images, corruptions, severities, positions)


def _images(test_set: TestSet) -> Sequence[str]:
    """The image that each example was made from."""
    if "image" in test_set.groups:
        return test_set.groups["image"]
    kinds = zip(test_set.groups["corruption"], test_set.groups["severity"], strict=True)
    prefixes = [f"{corruption}/{severity}/" for corruption, severity in kinds]
    if not all(example.startswith(prefix) for example, prefix in zip(test_set.ids, prefixes, strict=True)):
        raise InputError(
            f"test set {test_set.name} does not say which examples show the same image: add a group column 'image'"
        )
    return [example.removeprefix(prefix) for example, prefix in zip(test_set.ids, prefixes, strict=True)]


def _coded(values: Sequence[str], in_order: Callable[[set[str]], list[str]]) -> tuple[tuple[str, ...], IntArray]:
    """The distinct values in order, and for each value its index among them."""
    names = in_order(set(values))
    number_of = {name: number for number, name in enumerate(names)}
    return tuple(names), np.array([number_of[value] for value in values])


def _paper_order(names: set[str]) -> list[str]:
    """Corruptions of ImageNet-C in the order of the paper, then all others by name."""
    return [name for name in ALEXNET_ERRORS if name in names] + sorted(names - set(ALEXNET_ERRORS))
