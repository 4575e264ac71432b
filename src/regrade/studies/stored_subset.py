"""Store a subset of a test set as a test set of its own, with the images and the class map of its source."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from regrade.core import AlreadyStored, InputError, TestSet
from regrade.testsets import images_are_missing
from regrade.testsets import names as catalog_names

if TYPE_CHECKING:
    from regrade.store import Store, Stored


def check_subset(store: Store, subset: TestSet) -> None:
    """Raise if a subset cannot be stored, because its name belongs to another test set."""
    if subset.name in catalog_names():
        raise InputError(f"{subset.name} is the name of a test set in the catalog: choose another name")
    if store.test_sets.has(subset.name) and store.test_sets.read(subset.name).digest != subset.digest:
        raise AlreadyStored(f"a different test set is stored as {subset.name!r}: choose another name")


def store_subset(store: Store, subset: TestSet, source: TestSet) -> Stored:
    """Store a subset of a stored test set, in any order; its images are read from where those of the source are."""
    with store.transaction():
        check_subset(store, subset)
        class_map = store.class_maps.read(source)
        if not store.images.has(source.name):
            return store.add_test_set(subset, class_map)
        images = store.images.read(source)
        locations = tuple(images.locations[source.position(example)] for example in subset.ids)
        return store.add_images(subset, replace(images, locations=locations), class_map, is_missing=images_are_missing)
