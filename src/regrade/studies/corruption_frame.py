"""Where each image of a corrupted test set stands, under each corruption and severity."""

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
    """``positions`` (images, corruptions, severities) in the test set, every image under everything exactly once."""

    images: tuple[str, ...]
    corruptions: tuple[str, ...]
    severities: tuple[str, ...]
    positions: IntArray

    @cached_property
    def referred(self) -> IntArray:
        """The corruptions for which AlexNet's error is known; none unless all five severities are there."""
        known = [number for number, name in enumerate(self.corruptions) if name in ALEXNET_ERRORS]
        return np.array(known if self.severities == _SEVERITIES else [], dtype=int)

    @property
    def reference(self) -> FloatArray:
        """AlexNet's errors under these."""
        return np.array([ALEXNET_ERRORS[self.corruptions[number]] for number in self.referred])


def corruption_frame(test_set: TestSet) -> CorruptionFrame:
    """The frame of a test set with group columns ``corruption`` and ``severity``; one with gaps raises.

    What an image is, column ``image`` says, or else its id behind ``corruption/severity/``.
    """
    for column in ("corruption", "severity"):
        if column not in test_set.groups:
            raise InputError(
                f"test set {test_set.name} has no group column {column!r}: make one with regrade testsets corrupt"
            )
    images, image_of = _coded(_images(test_set), sorted)
    corruptions, corruption_of = _coded(test_set.groups["corruption"], _in_order_of_the_paper)
    severities, severity_of = _coded(test_set.groups["severity"], sorted)
    positions = np.full((len(images), len(corruptions), len(severities)), -1)
    positions[image_of, corruption_of, severity_of] = np.arange(len(test_set))
    missing = np.argwhere(positions < 0)
    if len(missing):
        image, corruption, severity = missing[0].tolist()
        raise InputError(
            f"test set {test_set.name} lacks {corruptions[corruption]} of severity {severities[severity]} for image "
            f"{images[image]!r}: every image is needed under every corruption and severity"
        )
    if len(test_set) > positions.size:
        raise InputError(f"test set {test_set.name} has an image twice under the same corruption and severity")
    return CorruptionFrame(images, corruptions, severities, positions)


def _images(test_set: TestSet) -> Sequence[str]:
    """Which image each example shows."""
    if "image" in test_set.groups:
        return test_set.groups["image"]
    kinds = zip(test_set.groups["corruption"], test_set.groups["severity"], strict=True)
    prefixes = [f"{corruption}/{severity}/" for corruption, severity in kinds]
    if not all(example.startswith(prefix) for example, prefix in zip(test_set.ids, prefixes, strict=True)):
        raise InputError(
            f"test set {test_set.name} does not say which examples are the same image: give it a group column 'image'"
        )
    return [example.removeprefix(prefix) for example, prefix in zip(test_set.ids, prefixes, strict=True)]


def _coded(values: Sequence[str], in_order: Callable[[set[str]], list[str]]) -> tuple[tuple[str, ...], IntArray]:
    """The different values in their order, and the number of each one's own."""
    names = in_order(set(values))
    number_of = {name: number for number, name in enumerate(names)}
    return tuple(names), np.array([number_of[value] for value in values])


def _in_order_of_the_paper(names: set[str]) -> list[str]:
    """Corruptions of ImageNet-C first."""
    return [name for name in ALEXNET_ERRORS if name in names] + sorted(names - set(ALEXNET_ERRORS))
