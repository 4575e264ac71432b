"""regrade build pool: fill a pool with candidates, which becomes a test set of the workspace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from regrade.build.date_window import date_window
from regrade.build.pool import (
    DateColumn,
    Refusals,
    class_refusals,
    date_refusals,
    source_refusals,
)
from regrade.build.pool_images import (
    SignedCandidates,
    checksum_refusals,
    download_images,
    source_of,
    without_exact,
)
from regrade.build.pool_record import PoolCollection, PoolEntry, StoredPool
from regrade.build.pool_report import (
    CheckedCandidates,
    PoolOutcome,
    PoolPart,
    PoolReport,
    exclusion_counts,
    pool_report,
)
from regrade.build.pool_source import PoolSource, read_source
from regrade.build.steps.queries import from_option, to_option
from regrade.core import (
    AlreadyStored,
    ClassSpace,
    Distance,
    ImageSource,
    InputError,
    Signatures,
    TestSet,
    joined_signatures,
)
from regrade.neighbors import no_progress
from regrade.store import Store
from regrade.store.layout import file_name
from regrade.studies.leakage.search import ImageSet, SearchOptions, search_for, stored_side
from regrade.studies.leakage.signatures import ImageProgress, fresh_signatures, kept_signatures
from regrade.studies.leakage.study import distances_option, thresholds_option
from regrade.studies.loading import resolve_class_space
from regrade.studies.study import Parts, Study, StudyOptions, option
from regrade.tables import check_ids
from regrade.testsets import Layout, RetryPolicy, images_are_missing, names
from regrade.testsets.reader import is_file, known_classes


@dataclass(frozen=True)
class PoolOptions(StudyOptions):
    """Where the candidates are, which of them enter the pool, and the targets."""

    pool: str = option("Name of the pool, which becomes a test set.", is_argument=True, metavar="NAME")
    source: str | Path = option(
        "Class folders, tar shards, or a CSV, Parquet or JSON lines table with the path or URL and the class of each "
        "candidate.",
        is_argument=True,
        kind=Path,
        metavar="SOURCE",
    )
    classes: str | Path | ClassSpace | None = option(
        "Class space: a name or a file (default: that of the first reference set).", None, kind=str | None
    )
    references: Sequence[str] = option(
        "Exclude copies and near duplicates of this test set. May be repeated.",
        (),
        names=("--reference",),
        metavar="SET",
    )
    layout: Layout = option("How classes are named in the source (default: as fits).", Layout.PROVEN)
    from_date: str | None = from_option("Exclude images before this day, such as 2012-07-11.")
    to_date: str | None = to_option("Exclude images after this day.")
    date_column: DateColumn | None = option(
        "The date that --from and --to limit (default: uploaded, or taken where it is missing).", None
    )
    per_class: int | None = option("Target: candidates per class.", None, minimum=1)
    by: Sequence[Distance | str] = distances_option(
        "Distances of near duplicates, separated by commas: pixels, dssim, phash, or exact to exclude exact duplicates "
        "only (default: all)."
    )
    near: Mapping[str, float] | None = thresholds_option()
    downloads: int = option("Images that are downloaded at the same time.", 8, minimum=1, maximum=64)
    skip_failed: bool = option(
        "Exclude images whose server does not respond (default: stop, and resume in the next run).", False
    )
    dry_run: bool = option("Download and store nothing, and show what is known without that.", False)
    retries: RetryPolicy | None = field(default=None, kw_only=True, compare=False, repr=False)
    image_progress: ImageProgress = field(default=no_progress, kw_only=True, compare=False, repr=False)


def run(store: Store, options: PoolOptions) -> PoolReport:
    """Fill a pool: read or download candidates, exclude those that must not enter, and store the rest as a test set.

    The label of an image is the class it is a candidate for, and its metadata are group columns. Running the same
    command again resumes an interrupted one, and changes nothing once the pool is stored.
    """
    window = date_window(options.from_date, options.to_date)
    search = _search(options)
    _check_name(store, options.pool)
    if options.layout is Layout.FLAT:
        raise InputError("candidates need a class: --layout must be id, index or name")
    references = [store.test_set(name) for name in dict.fromkeys(options.references)]
    space = _class_space(store, options, references)
    source = read_source(Path(options.source), space)
    candidates = source.candidates
    classes = known_classes(
        dict.fromkeys(row.class_name for row in candidates), space, options.layout, what="label", where=source.path
    )
    refusals = class_refusals(candidates, classes)
    refusals |= date_refusals(candidates, _left(source, refusals), window, options.date_column)
    images = _Images(store, options, source)
    refusals |= images.fetched(_left(source, refusals))
    compared = [stored_side(store, reference, search, options.image_progress) for reference in references]
    refusals |= images.refusals(_left(source, refusals), compared, search)
    kept = _left(source, refusals)
    new = False
    if not options.dry_run:
        if not kept:
            reasons = [f"{count:,} {reason.replace('_', ' ')}" for reason, count in exclusion_counts(refusals).items()]
            raise InputError(f"no candidate is left: {', '.join(reasons)}; see them with --dry-run --show excluded")
        new = _store(store, options, source, refusals, _pool(options.pool, source, kept, classes, space))
    outcome = PoolOutcome(
        options.pool,
        str(options.source),
        options.per_class,
        len(images.not_downloaded(kept)),
        stored=not options.dry_run,
        new=new,
    )
    return pool_report(CheckedCandidates(candidates, refusals, classes, space, references), outcome, source.notes)


def _left(source: PoolSource, refusals: Refusals) -> list[int]:
    return [position for position in range(len(source.candidates)) if position not in refusals]


def _search(options: PoolOptions) -> SearchOptions:
    if any(distance in options.by for distance in Distance if distance.is_by_model):
        raise InputError("candidates have no features yet: choose other distances with --by")
    return search_for(options.by, options.near or {})


def _check_name(store: Store, name: str) -> None:
    if name in names():
        raise InputError(f"{name} is the name of a test set in the catalog: choose another name")
    if store.test_sets.has(name) and not PoolCollection(store.root).has_pool(name):
        raise AlreadyStored(f"test set {name} exists and is not a pool: choose another name")


def _class_space(store: Store, options: PoolOptions, references: Sequence[TestSet]) -> ClassSpace:
    if options.classes is not None:
        return resolve_class_space(store, options.classes)
    if not references:
        raise InputError(
            "give the classes of the pool with --classes, for example --classes imagenet-1k, or --reference"
        )
    return references[0].class_space


@dataclass(frozen=True)
class _Images:
    """The images of a source's candidates, downloaded if they have to be."""

    store: Store
    options: PoolOptions
    source: PoolSource

    @cached_property
    def folder(self) -> Path:
        """Where the images are: inside the workspace if they are downloaded."""
        downloaded = self.store.root.resolve() / "builds" / file_name(self.options.pool) / "images"
        return downloaded if self.source.is_remote else self.source.path.resolve()

    def at(self, positions: Sequence[int]) -> ImageSource:
        """The image source of some candidates; a path inside the workspace is relative to it."""
        base = self.store.root.resolve()
        root = self.folder.relative_to(base).as_posix() if self.folder.is_relative_to(base) else str(self.folder)
        locations = tuple(self.source.candidates[position].location for position in positions)
        return ImageSource(self.source.reader, root, locations, base=str(base))

    def fetched(self, positions: Sequence[int]) -> Refusals:
        """Download what is missing, and check the checksums of local files."""
        if not positions:
            return {}
        if not self.source.is_remote:
            return checksum_refusals(self.source.candidates, positions, self.at(positions))
        if self.options.dry_run:
            return {}
        return download_images(
            self.source.candidates,
            positions,
            self.folder,
            threads=self.options.downloads,
            retries=self.options.retries,
            skip_failed=self.options.skip_failed,
            progress=self.options.image_progress,
        )

    def not_downloaded(self, positions: Sequence[int]) -> list[int]:
        """The candidates whose images are not there yet, in a dry run."""
        if not self.source.is_remote or not self.options.dry_run:
            return []
        candidates = self.source.candidates
        return [position for position in positions if not is_file(self.folder, candidates[position].location)]

    def refusals(self, positions: Sequence[int], references: Sequence[ImageSet], search: SearchOptions) -> Refusals:
        """The candidates that cannot be read, come from the same source, or are duplicates, in this order."""
        absent = set(self.not_downloaded(positions))
        readable = [position for position in positions if position not in absent]
        if not readable:
            return source_refusals(self.source.candidates, positions)
        signed = SignedCandidates(
            self.source.candidates, readable, self.at(readable), self._signatures(self.at(readable), search.size)
        )
        refusals = signed.unreadable()
        refusals |= source_refusals(
            self.source.candidates, [position for position in positions if position not in refusals]
        )
        signed = signed.without(refusals)
        refusals |= signed.exact_duplicates(references)
        if (near := without_exact(search)) is not None:
            signed = signed.without(refusals)
            refusals |= signed.near_references(references, near, self.options.image_progress)
            refusals |= signed.without(refusals).near_duplicates(near, self.options.image_progress)
        return refusals

    def _signatures(self, source: ImageSource, size: int) -> Signatures:
        """The signatures of images, stored unless in a dry run; images that could not be read before are read again."""
        progress = self.options.image_progress
        if self.options.dry_run:
            return fresh_signatures(source, size=size, progress=progress)
        signatures = kept_signatures(self.store, self.options.pool, source, size=size, progress=progress)
        if not signatures.unreadable:
            return signatures
        unreadable, readable = np.flatnonzero(~signatures.readable), np.flatnonzero(signatures.readable)
        again = fresh_signatures(
            source_of(source, [source.locations[row] for row in unreadable.tolist()]), size=size, progress=no_progress
        )
        order = np.argsort(np.concatenate([readable, unreadable]))
        return joined_signatures([signatures[readable], again])[order]


def _pool(name: str, source: PoolSource, kept: Sequence[int], classes: Mapping[str, int], space: ClassSpace) -> TestSet:
    """The kept candidates as a test set."""
    rows = [source.candidates[position] for position in kept]
    ids = tuple(row.id for row in rows)
    check_ids(ids)
    labels = np.array([classes[row.class_name] for row in rows], dtype=np.int32)
    groups = {column: tuple(row.metadata.get(column, "") for row in rows) for column in source.columns}
    return TestSet(name, space, ids, labels, groups)


def _store(store: Store, options: PoolOptions, source: PoolSource, refusals: Refusals, pool: TestSet) -> bool:
    """Store the test set, and the record of all listed candidates; False if nothing is new."""
    record = StoredPool(pool.name, source.path.name, _settings(options), tuple(_entries(source, refusals)))
    images = _Images(store, options, source).at(_left(source, refusals))
    with store.transaction():
        added = store.add_images(pool, images, is_missing=images_are_missing)
        recorded = PoolCollection(store.root).add(record, None)
    return bool(added.new or recorded.new)


def _settings(options: PoolOptions) -> dict[str, Any]:
    window = date_window(options.from_date, options.to_date)
    search = _search(options)
    return {
        "from": str(window.first or ""),
        "to": str(window.last or ""),
        "date": options.date_column.value if options.date_column else "",
        "references": list(dict.fromkeys(options.references)),
        "thresholds": {distance.value: limit for distance, limit in search.thresholds.items()},
    }


def _entries(source: PoolSource, refusals: Refusals) -> Iterator[PoolEntry]:
    for position, row in enumerate(source.candidates):
        refused = refusals.get(position)
        if refused is None:
            yield PoolEntry(row.id, row.class_name, row.url)
        else:
            yield PoolEntry(row.id, row.class_name, row.url, refused.reason, refused.detail)


BUILD_POOL = Study(
    name="pool",
    question="Which candidates are there?",
    summary="Fill a pool with candidates from folders, tar shards or tables of paths and URLs, without duplicates."
    "\n\nThe pool is stored as a test set, whose labels are the classes that images are candidates for.",
    options=PoolOptions,
    result=PoolReport,
    run=run,
    parts=Parts(
        PoolPart,
        "Table to print. classes: counts and targets. keywords, authors: the kept images. excluded: every excluded "
        "candidate with its reason.",
    ),
)
