"""Add a test set: from images in any supported format, from a table, or with corrupted images of another set."""

from __future__ import annotations

from collections.abc import Sequence
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
    corrupted,
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
    """An added test set, its image source if it has images, and whether anything is new.

    ``class_map`` is the map stored with it, if any, ``missing`` counts listed images that do not exist, and ``notes``
    describe what else was skipped.
    """

    test_set: TestSet
    source: ImageSource | None
    new: bool
    class_map: ClassMap | None = None
    missing: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class MapFile:
    """A file that maps classes of ``source`` to those of a test set."""

    path: Path
    source: ClassSpace

    def onto(self, target: ClassSpace) -> ClassMap:
        """The map onto a test set's classes; raises if they are the same classes."""
        if self.source.digest == target.digest:
            raise InputError(f"the labels are already classes of {self.source.name}: leave out --map")
        return class_map_from_file(self.path, self.source, target, MapRule.ANY_IN_TOP_K)


def listed_in_catalog(name: str) -> CatalogEntry | None:
    """The catalog entry of a test set, if there is one."""
    return entry(name) if name in names() else None


def space_for(store: Store, name: str, stated: ClassSpace | None) -> ClassSpace:
    """The classes of a test set: as stated, as stored, or from the catalog; a contradiction raises."""
    stored_space = store.test_set(name).class_space if store.test_sets.has(name) else None
    if stored_space is not None and stated is not None and stated.digest != stored_space.digest:
        raise InputError(f"test set {name} has the classes of {stored_space.name}: leave out --classes")
    if stored_space is not None:
        return stored_space
    if stated is not None:
        return stated
    listed = listed_in_catalog(name)
    if listed is None or not listed.class_space:
        raise InputError(
            f"test set {name!r} is new: give its classes with --classes, for example --classes imagenet-1k"
        )
    return store.class_spaces.read(listed.class_space)


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
    """Find the examples below a path and store them; images of a stored test set are matched by id.

    A test set of the catalog that comes with its own classes also comes with their map, unless classes are stated.
    """
    listed = listed_in_catalog(name)
    if listed is not None and listed.kind is not EntryKind.TEST_SET:
        raise InputError(f"{name} is not a test set (in the catalog: {listed.kind.value}): {listed.command}")
    columns = columns or Columns()
    existing = store.test_set(name) if store.test_sets.has(name) else None
    if listed is not None and stated is None and brings_classes(listed):
        scan = _scan_released(
            path, existing, find_released(listed, path, imagenet_1k(), layout=layout, columns=columns)
        )
    else:
        levels = listed.levels if listed else ()
        scan = _scan(path, ReaderOptions(space_for(store, name, stated), layout, columns, levels))
    class_map = scan.class_map if map_file is None else map_file.onto(scan.space)
    if scan.reader is None:
        test_set, source = _test_set_of(scan.examples, name, scan.space), None
        stored = store.add_test_set(test_set, class_map)
    else:
        test_set = existing or _test_set_of(scan.examples, name, scan.space)
        source = _source(
            scan.reader, path, locations_for(existing, scan.examples) if existing else scan.examples.locations, listed
        )
        stored = store.add_images(test_set, source, class_map, is_missing=images_are_missing)
    examples = scan.examples
    return AddedTestSet(
        test_set, source, bool(stored.new), store.class_maps.read(test_set), examples.missing, examples.notes
    )


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
        store.images.read(test_set),
        name=name,
        corruptions=corruptions,
        severities=severities,
        images=images,
        rng=np.random.default_rng(seed),
    )
    class_map = store.class_maps.read(test_set)
    stored = store.add_images(result.test_set, result.source, class_map, is_missing=images_are_missing)
    return AddedTestSet(result.test_set, result.source, bool(stored.new), class_map)


@dataclass(frozen=True)
class _Scan:
    """What was found at a path: classes, examples, the reader of the images and the class map, if any."""

    space: ClassSpace
    examples: ReaderResult
    reader: str | None
    class_map: ClassMap | None = None


def _scan_released(path: Path, existing: TestSet | None, released: Released) -> _Scan:
    space = released.class_map.target
    if existing is not None and existing.class_space.digest != space.digest:
        raise MismatchError(
            f"test set {existing.name} is stored with other classes ({existing.class_space.name}) than {path} has: add "
            "it in another workspace, or under another name with --classes and --map"
        )
    return _Scan(space, released.examples, released.reader, released.class_map)


def _scan(path: Path, options: ReaderOptions) -> _Scan:
    if _is_plain_table(path):
        table = read_table(path)
        options.refuse_flat(table, path)
        examples = read_examples(table, options.space, options.columns)
        notes = options.columns.ignored_in(table)
        return _Scan(options.space, ReaderResult(examples.ids, examples.labels, (), examples.groups, notes=notes), None)
    reader = reader_for(path)
    return _Scan(options.space, reader.find(path, options), reader.name)


def _is_plain_table(path: Path) -> bool:
    """Whether a file is a table of examples without images."""
    return path.suffix.lower() in TABLE_SUFFIXES and not any(reader.recognizes(path) for reader in readers().values())


def _source(reader: str, path: Path, locations: tuple[str, ...], listed: CatalogEntry | None) -> ImageSource:
    """The image source, with orientation and border from the catalog."""
    if listed is None:
        return ImageSource(reader, str(path.resolve()), locations)
    orientation = Orientation.UPRIGHT if listed.applies_exif else Orientation.AS_STORED
    return ImageSource(reader, str(path.resolve()), locations, orientation, listed.border)


def _test_set_of(examples: ReaderResult, name: str, space: ClassSpace) -> TestSet:
    check_unique(examples.ids)
    check_ids(examples.ids)
    labels = np.full(len(examples.ids), UNLABELED) if examples.labels is None else examples.labels
    return TestSet(name, space, examples.ids, labels, examples.groups)
