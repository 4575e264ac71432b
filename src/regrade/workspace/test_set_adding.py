"""Adding a test set: from images in any known form, or from a table of ids and labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regrade.classes import class_map_from_file, imagenet_1k
from regrade.core import (
    UNLABELED,
    ClassMap,
    ClassSpace,
    ImageSource,
    InputError,
    MapRule,
    MismatchError,
    Orientation,
    TestSet,
)
from regrade.store import Store
from regrade.tables import TABLE_SUFFIXES, Columns, check_ids, check_unique, read_examples, read_table
from regrade.testsets import (
    CatalogEntry,
    EntryKind,
    Layout,
    ReaderOptions,
    ReaderResult,
    Released,
    brings_classes,
    entry,
    find_released,
    images_are_missing,
    locations_for,
    names,
    reader_for,
    readers,
)


@dataclass(frozen=True)
class AddedTestSet:
    """What adding a test set did: the set, where its images are if it has any, and whether any of it is new.

    ``class_map`` is the map that is stored with it, if one is, ``missing`` counts images that are listed and not
    there, and ``notes`` say what else was passed over.
    """

    test_set: TestSet
    source: ImageSource | None
    new: bool
    class_map: ClassMap | None = None
    missing: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class MapFile:
    """A file that says which classes of ``source`` stand for those of a test set."""

    path: Path
    source: ClassSpace

    def onto(self, target: ClassSpace) -> ClassMap:
        """The map onto a test set's classes; one that is in the same classes already needs none."""
        if self.source.digest == target.digest:
            raise InputError(f"the labels are classes of {self.source.name} already: leave out --map")
        return class_map_from_file(self.path, self.source, target, MapRule.ANY_IN_TOP_K)


def listed_in_catalog(name: str) -> CatalogEntry | None:
    """The catalog's entry of a test set, if it has one."""
    return entry(name) if name in names() else None


def space_for(store: Store, name: str, stated: ClassSpace | None) -> ClassSpace:
    """The classes of a test set: as stated, as stored, or as the catalog has them; two that differ raise."""
    known = store.test_set(name).class_space if store.has_test_set(name) else None
    if known is not None and stated is not None and stated.digest != known.digest:
        raise InputError(f"test set {name} has the classes of {known.name}: leave out --classes")
    if known is not None:
        return known
    if stated is not None:
        return stated
    listed = listed_in_catalog(name)
    if listed is None or not listed.class_space:
        raise InputError(f"test set {name!r} is new: say what its classes are with --classes, e.g. imagenet-1k")
    return store.class_space(listed.class_space)


def add_test_set(
    store: Store,
    name: str,
    path: Path,
    *,
    stated: ClassSpace | None = None,
    layout: Layout = Layout.PROVEN,
    columns: Columns | None = None,
    map_file: MapFile | None = None,
) -> AddedTestSet:
    """Find the examples below a path and store them; images for a test set that is stored are found by id.

    A set of the catalog that brings classes of its own brings their map too, unless other classes are stated.
    """
    listed = listed_in_catalog(name)
    if listed is not None and listed.kind is not EntryKind.TEST_SET:
        raise InputError(f"{name} of the catalog is no test set ({listed.kind.value}): {listed.command}")
    columns = columns or Columns()
    known = store.test_set(name) if store.has_test_set(name) else None
    if listed is not None and stated is None and brings_classes(listed):
        here = _released(path, known, find_released(listed, path, imagenet_1k(), layout=layout, columns=columns))
    else:
        levels = listed.levels if listed else ()
        here = _looked_at(path, ReaderOptions(space_for(store, name, stated), layout, columns, levels))
    class_map = here.class_map if map_file is None else map_file.onto(here.space)
    if here.reader is None:
        test_set, source = _test_set_of(here.found, name, here.space), None
        stored = store.add_test_set(test_set, class_map)
    else:
        test_set = known or _test_set_of(here.found, name, here.space)
        source = _source(here.reader, path, locations_for(known, here.found) if known else here.found.locations, listed)
        stored = store.add_images(test_set, source, class_map, is_missing=images_are_missing)
    found = here.found
    return AddedTestSet(test_set, source, bool(stored.new), store.class_map(test_set), found.missing, found.notes)


@dataclass(frozen=True)
class _Here:
    """What lies at a path: classes, examples, the reader of the images and the map, none where there is none."""

    space: ClassSpace
    found: ReaderResult
    reader: str | None
    class_map: ClassMap | None = None


def _released(path: Path, known: TestSet | None, released: Released) -> _Here:
    space = released.class_map.target
    if known is not None and known.class_space.digest != space.digest:
        raise MismatchError(
            f"test set {known.name} is stored with other classes ({known.class_space.name}) than {path} brings: add it "
            "in another workspace, or under another name with --classes and --map"
        )
    return _Here(space, released.examples, released.reader, released.class_map)


def _looked_at(path: Path, wanted: ReaderOptions) -> _Here:
    if _is_plain_table(path):
        table = read_table(path)
        wanted.refuse_flat(table, path)
        examples = read_examples(table, wanted.space, wanted.columns)
        notes = wanted.columns.ignored_in(table)
        return _Here(wanted.space, ReaderResult(examples.ids, examples.labels, (), examples.groups, notes=notes), None)
    reader = reader_for(path)
    return _Here(wanted.space, reader.find(path, wanted), reader.name)


def _is_plain_table(path: Path) -> bool:
    """Whether a file is a table that names examples but no images."""
    return path.suffix.lower() in TABLE_SUFFIXES and not any(reader.recognizes(path) for reader in readers().values())


def _source(reader: str, path: Path, locations: tuple[str, ...], listed: CatalogEntry | None) -> ImageSource:
    """Where images are, held and cut as the catalog says."""
    if listed is None:
        return ImageSource(reader, str(path.resolve()), locations)
    orientation = Orientation.UPRIGHT if listed.applies_exif else Orientation.AS_STORED
    return ImageSource(reader, str(path.resolve()), locations, orientation, listed.border)


def _test_set_of(found: ReaderResult, name: str, space: ClassSpace) -> TestSet:
    check_unique(found.ids)
    check_ids(found.ids)
    labels = np.full(len(found.ids), UNLABELED) if found.labels is None else found.labels
    return TestSet(name, space, found.ids, labels, found.groups)
