"""Making a test set of corrupted images from one that has images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regrade.core import InputError
from regrade.store import Store
from regrade.testsets import corrupted, images_are_missing
from regrade.workspace.test_set_adding import AddedTestSet, listed_in_catalog


def corrupt_test_set(
    store: Store,
    clean: str,
    *,
    name: str,
    corruptions: Sequence[str],
    severities: Sequence[int],
    images: int | None,
    seed: int,
) -> AddedTestSet:
    """Store a test set whose images are those of another, corrupted as they are read."""
    if listed_in_catalog(name):
        raise InputError(f"{name} is a set of the catalog: call one that is made here by another name")
    test_set = store.test_set(clean)
    made = corrupted(
        test_set,
        store.images(test_set),
        name=name,
        corruptions=corruptions,
        severities=severities,
        images=images,
        rng=np.random.default_rng(seed),
    )
    class_map = store.class_map(test_set)
    stored = store.add_images(made.test_set, made.source, class_map, is_missing=images_are_missing)
    return AddedTestSet(made.test_set, made.source, bool(stored.new), class_map)
