"""Adding a test set: from pictures in any known form, or from a table of ids and labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regrade.core import UNLABELED, ClassSpace, InputError, Orientation, PictureSource, TestSet
from regrade.store import Store
from regrade.tables import TABLE_SUFFIXES, check_unique, read_examples, read_table
from regrade.testsets import CatalogueEntry, Found, Wanted, entry, locations_for, names, reader_for, readers


@dataclass(frozen=True)
class AddedTestSet:
    """What adding a test set did: the set, where its pictures are if it has any, and whether that is new."""

    test_set: TestSet
    source: PictureSource | None
    new: bool


def listed_in_catalogue(name: str) -> CatalogueEntry | None:
    """The catalogue's entry of a test set, if it has one."""
    return entry(name) if name in names() else None


def space_for(store: Store, name: str, stated: ClassSpace | None) -> ClassSpace:
    """The classes of a test set: as stated, as stored, or as the catalogue has them; two that differ raise."""
    known = store.test_set(name).class_space if store.has_test_set(name) else None
    if known is not None and stated is not None and stated.digest != known.digest:
        raise InputError(f"test set {name} has the classes of {known.name}: leave out --classes")
    if known is not None:
        return known
    if stated is not None:
        return stated
    listed = listed_in_catalogue(name)
    if listed is None or not listed.class_space:
        raise InputError(f"test set {name!r} is new: say what its classes are with --classes, e.g. imagenet-1k")
    return store.class_space(listed.class_space)


def add_test_set(store: Store, name: str, path: Path, wanted: Wanted) -> AddedTestSet:
    """Find the examples below a path and store them; pictures for a test set that is stored are found by id."""
    if _is_plain_table(path):
        examples = read_examples(read_table(path), wanted.space, wanted.columns)
        stored = store.add_test_set(examples.as_test_set(name, wanted.space))
        return AddedTestSet(store.test_set(name), None, bool(stored.new))
    reader = reader_for(path)
    found = reader.find(path, wanted)
    known = store.test_set(name) if store.has_test_set(name) else None
    test_set = known or _test_set_of(found, name, wanted.space)
    listed = listed_in_catalogue(name)
    source = PictureSource(
        reader.name,
        str(path.resolve()),
        locations_for(known, found) if known else found.locations,
        Orientation.AS_STORED if listed and not listed.applies_exif else Orientation.UPRIGHT,
        listed.border if listed else 0,
    )
    return AddedTestSet(test_set, source, bool(store.add_pictures(test_set, source).new))


def _is_plain_table(path: Path) -> bool:
    """Whether a file is a table that names examples but no pictures."""
    return path.suffix.lower() in TABLE_SUFFIXES and not any(reader.recognises(path) for reader in readers().values())


def _test_set_of(found: Found, name: str, space: ClassSpace) -> TestSet:
    check_unique(found.ids)
    labels = np.full(len(found.ids), UNLABELED) if found.labels is None else found.labels
    return TestSet(name, space, found.ids, labels, found.groups)
