"""Create a test set of corrupted images from a test set with images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regrade.core import ImageSource, InputError, TestSet
from regrade.core.arguments import refuse_text
from regrade.core.arrays import IntArray
from regrade.testsets.corrupted_place import CleanPlace, CorruptedPlace
from regrade.testsets.corrupted_reader import READER
from regrade.testsets.corruptions import CORRUPTIONS, SEVERITIES, check_corruption, check_severity

COLUMNS = ("corruption", "severity", "image")


@dataclass(frozen=True, eq=False)
class Corrupted:
    """A test set of corrupted images, and the source of its images."""

    test_set: TestSet
    source: ImageSource


def corrupted(
    test_set: TestSet,
    source: ImageSource,
    *,
    name: str,
    corruptions: Sequence[str] = (),
    severities: Sequence[int] = (),
    images: int | None = None,
    rng: np.random.Generator,
) -> Corrupted:
    """Create a test set with every image under every corruption and severity (default: all of both).

    Labels and groups are those of the clean images; the group columns ``corruption``, ``severity`` and ``image`` (the
    id of the clean image) are added. ``images`` limits the test set to a random sample of that many images.
    """
    taken = [column for column in COLUMNS if column in test_set.groups]
    if taken:
        raise InputError(
            f"test set {test_set.name} already has a group column {taken[0]!r}: choose a test set of clean images"
        )
    chosen = _chosen(test_set, images, rng)
    kinds = [(c, s) for c in _selected_corruptions(corruptions) for s in _selected_severities(severities)]
    rows = [(c, s, int(position)) for c, s in kinds for position in chosen]
    groups = {
        column: tuple(values[position] for *_, position in rows) for column, values in test_set.groups.items()
    } | {
        "corruption": tuple(c for c, _, _ in rows),
        "severity": tuple(str(s) for _, s, _ in rows),
        "image": tuple(test_set.ids[position] for *_, position in rows),
    }  # fmt: skip
    ids = tuple(f"{c}/{s}/{test_set.ids[position]}" for c, s, position in rows)
    labels = np.tile(test_set.labels[chosen], len(kinds))
    clean = {int(position): _clean_place(test_set, source, int(position)).text() for position in chosen}
    locations = tuple(CorruptedPlace(c, s, clean[position]).text() for c, s, position in rows)
    return Corrupted(
        TestSet(name, test_set.class_space, ids, labels, groups),
        ImageSource(READER, source.root, locations, base=source.base),
    )


def _clean_place(test_set: TestSet, source: ImageSource, position: int) -> CleanPlace:
    return CleanPlace(
        test_set.ids[position], source.locations[position], source.reader, source.orientation.value, source.border
    )


def _chosen(test_set: TestSet, images: int | None, rng: np.random.Generator) -> IntArray:
    if images is None:
        return np.arange(len(test_set))
    if not 1 <= images <= len(test_set):
        raise InputError(f"a sample of test set {test_set.name} has 1 to {len(test_set):,} images, got {images:,}")
    return np.sort(rng.choice(len(test_set), size=images, replace=False))


def _selected_corruptions(names: Sequence[str]) -> list[str]:
    """The selected corruptions in the order of the paper; all of them if none are named."""
    refuse_text(names, "corruptions")
    for name in names:
        check_corruption(name)
    return [name for name in CORRUPTIONS if name in names or not names]


def _selected_severities(severities: Sequence[int]) -> list[int]:
    for severity in severities:
        check_severity(severity)
    return [severity for severity in SEVERITIES if severity in severities or not severities]
