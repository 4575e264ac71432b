"""A test set of corrupted images, made from one that has images."""

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
    """A test set of corrupted images, and where they come from."""

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
    """Every image under every corruption and severity, or under those that are named.

    Labels and groups are those of the clean images; group columns ``corruption``, ``severity`` and ``image`` (the
    clean image's id) are added. ``images`` takes a random part of the images, by ``rng``.
    """
    taken = [column for column in COLUMNS if column in test_set.groups]
    if taken:
        raise InputError(f"test set {test_set.name} has a group column {taken[0]!r} already: is it corrupted?")
    chosen = _chosen(test_set, images, rng)
    kinds = [(c, s) for c in _asked_corruptions(corruptions) for s in _asked_severities(severities)]
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
        raise InputError(f"test set {test_set.name} has {len(test_set):,} images, got a choice of {images:,}")
    return np.sort(rng.choice(len(test_set), size=images, replace=False))


def _asked_corruptions(names: Sequence[str]) -> list[str]:
    """In the order of the paper, whatever order they are named in."""
    refuse_text(names, "corruptions")
    for name in names:
        check_corruption(name)
    return [name for name in CORRUPTIONS if name in names or not names]


def _asked_severities(severities: Sequence[int]) -> list[int]:
    for severity in severities:
        check_severity(severity)
    return [severity for severity in SEVERITIES if severity in severities or not severities]
