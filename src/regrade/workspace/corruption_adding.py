"""Add a test set with corrupted versions of the images of another."""

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
    """Store a test set with the images of another, which are corrupted when they are read."""
    if listed_in_catalog(name):
        raise InputError(f"{name} is the name of a test set in the catalog: choose another name")
    test_set = store.test_set(clean)
    result = corrupted(
        test_set,
        store.images(test_set),
        name=name,
        corruptions=corruptions,
        severities=severities,
        images=images,
        rng=np.random.default_rng(seed),
    )
    class_map = store.class_map(test_set)
    stored = store.add_images(result.test_set, result.source, class_map, is_missing=images_are_missing)
    return AddedTestSet(result.test_set, result.source, bool(stored.new), class_map)
